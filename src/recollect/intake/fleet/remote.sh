# What runs on a host of the fleet: functions, then calls of them, all of it read by `sh` from its input.
# POSIX sh and find, tail, head, wc, cksum, tr; gzip, stat, sqlite3 and mktemp where they are there. Nothing
# is written but a copy of a database, below TMPDIR, and that only while it is sent. Paths come coded, so that
# no byte of one is ever read by a shell; what goes back is told by its length, or ends with a NUL.

LC_ALL=C
export LC_ALL
unset CDPATH
umask 077
copy=
trap '[ -z "$copy" ] || rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM PIPE

has() { command -v "$1" >/dev/null 2>&1; }

if has gzip; then packing=z; else packing=p; fi
if find . -prune -printf '%s %T@ %C@ %i %p\000' >/dev/null 2>&1; then looking=find
elif stat -c %s . >/dev/null 2>&1; then looking=stat
elif stat -f %z . >/dev/null 2>&1; then looking=bsd
else looking=ls
fi
export looking

# answer NONCE FUNCTION...: what a function prints, packed where that can be done.
answer() {
    printf '\nBEGIN %s %s\n' "$1" "$packing"
    shift
    if [ "$packing" = z ]; then "$@" </dev/null 2>/dev/null | gzip -1 -c; else "$@" </dev/null 2>/dev/null; fi
}

# decode CODED: the bytes of a path, in $path. The dot keeps newlines at its end.
decode() {
    case $1 in
        *\\*)
            path=$(printf '%b.' "$1")
            path=${path%.} ;;
        *) path=$1 ;;
    esac
}

# hello VARIABLE...: what this host is, and where its agents may keep their files.
hello() {
    printf 'home %s\000' "$HOME"
    printf 'system %s\000' "$(uname -s)"
    printf 'looking %s\000' "$looking"
    for name in find tail head wc cksum tr cat ls; do
        has "$name" || printf 'lacks %s\000' "$name"
    done
    for name do
        eval "value=\${$name-}"
        [ -z "$value" ] || printf 'variable %s=%s\000' "$name" "$value"
    done
}

# state PATH: size, times and number of one regular file, each followed by a blank; nothing where there is none.
state='
state() {
    [ -f "$1" ] && [ ! -L "$1" ] || return 0
    case $looking in
        find) find "$1" -prune -printf "%s %T@ %C@ %i " ;;
        stat) stat -c "%s %Y %Z %i " "$1" | tr -d "\n" ;;
        bsd) stat -f "%z %Fm %Fc %i " "$1" | tr -d "\n" ;;
        # Without stat only that something changed can be told: by a sum of what ls says of it.
        *) printf "%s 0 0 %s " "$(($(wc -c <"$1")))" "$(ls -ldn "$1" | cksum | tr " " "\n" | head -n 1)" ;;
    esac
}
'
eval "$state"

# What is done with the files of a folder where find cannot tell their sizes: many at a time, unless a name has a newline.
each="$state"'
newline="
"
case $looking$* in
    *"$newline"* | ls*)
        for file do
            printf "F "
            state "$file"
            printf "%s\000" "$file"
        done ;;
    stat*) stat -c "F %s %Y %Z %i %n" "$@" | tr "\n" "\000" ;;
    *) stat -f "F %z %Fm %Fc %i %N" "$@" | tr "\n" "\000" ;;
esac
'

# roots CODED...: every regular file below these folders; links are followed to a root itself and nowhere else.
roots() {
    for coded do
        decode "$coded"
        (
            cd -P "$path" || exit
            printf 'R %s\000' "$(pwd -P)"
            if [ "$looking" = find ]; then
                find . -name .git -prune -o -type f -printf 'F %s %T@ %C@ %i %p\000'
            else
                find . -name .git -prune -o -type f -exec sh -c "$each" sh {} +
            fi
        )
    done
}

# told CODED...: the same of single files that say something about others.
told() {
    for coded do
        decode "$coded"
        now=$(state "$path")
        [ -z "$now" ] || printf 'T %s%s\000' "$now" "$coded"
    done
}

# sum PATH LENGTH: the checksum of its first bytes.
sum() {
    set -- $(head -c "$2" <"$1" | cksum)
    printf '%s' "$1"
}

# pieces PATH START END: these bytes. What is announced is sent, whatever becomes of the file meanwhile: zeros
# stand for what is not there any more, and the checksum, of a second reading, tells.
pieces() {
    at=$2
    while [ "$at" -lt "$3" ]; do
        length=$(($3 - at))
        [ "$length" -le 8388608 ] || length=8388608
        printf 'P %s\n' "$length"
        { tail -c "+$((at + 1))" <"$1"; cat /dev/zero; } | head -c "$length"
        printf '\n%s\n' "$(tail -c "+$((at + 1))" <"$1" | head -c "$length" | cksum)"
        at=$((at + length))
    done
}

# fetch NUMBER CODED OFFSET SUM LIMIT: what a file has behind an offset; all of it if what is before has another sum.
fetch() {
    decode "$2"
    if [ -L "$path" ]; then printf 'X %s link\n' "$1"; return; fi
    if [ ! -f "$path" ]; then printf 'X %s gone\n' "$1"; return; fi
    if [ ! -r "$path" ]; then printf 'X %s unreadable\n' "$1"; return; fi
    start=$3
    if [ "$start" -gt 0 ] && [ "$(sum "$path" "$start")" != "$4" ]; then start=0; fi
    end=$(($(wc -c <"$path")))
    if [ "$end" -lt "$start" ]; then end=$start; fi
    whole=$end
    if [ "$((end - start))" -gt "$5" ]; then end=$((start + $5)); fi
    printf 'F %s %s %s %s\n' "$1" "$start" "$end" "$whole"
    pieces "$path" "$start" "$end"
    # One piece that is all of it has its sum already.
    if [ "$start" -eq 0 ] && [ "$end" -le 8388608 ]; then printf 'E %s -\n' "$1"; return; fi
    printf 'E %s %s\n' "$1" "$(sum "$path" "$end")"
}

# part NUMBER NAME PATH LIMIT: one file of a database.
part() {
    end=$(($(wc -c <"$3")))
    [ "$end" -le "$4" ] || return 1
    printf 'D %s %s %s\n' "$1" "$2" "$end"
    pieces "$3" 0 "$end"
}

# stable PATH: what is another if a file of the database has changed.
stable() {
    for file in "$1" "$1-wal" "$1-journal"; do
        if [ -f "$file" ]; then cksum <"$file"; else echo -; fi
    done
}

# database NUMBER CODED LIMIT: all of a database at one moment: by sqlite3, or its files if they stay as they are.
database() {
    decode "$2"
    if [ -L "$path" ] || [ ! -f "$path" ]; then printf 'X %s gone\n' "$1"; return; fi
    if [ ! -r "$path" ]; then printf 'X %s unreadable\n' "$1"; return; fi
    if [ "$(($(wc -c <"$path")))" -gt "$3" ]; then printf 'X %s large\n' "$1"; return; fi
    if has sqlite3 && has mktemp && copy=$(mktemp -d "${TMPDIR:-/tmp}/recollect.XXXXXX"); then
        if (cd "$copy" && sqlite3 -init /dev/null -batch -readonly "$path" '.backup copy') >/dev/null && [ -s "$copy/copy" ]; then
            part "$1" main "$copy/copy" "$3"
            printf 'V %s same\n' "$1"
            rm -rf "$copy"
            copy=
            return
        fi
        rm -rf "$copy"
        copy=
    fi
    before=$(stable "$path")
    part "$1" main "$path" "$3"
    for beside in wal journal; do
        if [ -f "$path-$beside" ] && [ ! -L "$path-$beside" ]; then part "$1" "$beside" "$path-$beside" "$3"; fi
    done
    if [ "$before" = "$(stable "$path")" ]; then printf 'V %s same\n' "$1"; else printf 'V %s changed\n' "$1"; fi
}
