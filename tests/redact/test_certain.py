"""A password that is a plain word, where it is certain that one is given; and its neighbours, which stay.

Each rule has what it finds and what is written nearly alike. `@@` is the word.
"""

# ruff: noqa: E501 (one case is one piece of text)

from __future__ import annotations

import base64
import json
import random

import pytest
from benchmarks.redact_spellings import ALNUM, PLANTS, of, phrase, two_plants
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from recollect.redact import redact, redact_object
from recollect.redact.nonvalues import ADJECTIVES, MESSAGES, NAMES, WORDS, is_given, is_phrase, is_told
from recollect.redact.readings import read, unlayered

WORD = PLANTS[8]  # short, and without a digit: nothing but its place tells
JOINED = two_plants(random.Random(4))
PHRASE = phrase(random.Random(5))
TOKEN = of(ALNUM, 32)(random.Random(8))

# By rule: where a word is masked, and where one stays.
PLACES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "a string that is assigned": (
        (
            'connect(host="db", password="@@")', "private String DB_PASS = '@@';", "db.password = '@@'",
            'config["PASSWORD"] = "@@"', "'password' => '@@',", 'const char *pass = "@@";',
            'val password: String = "@@"', ':password "@@"', 'ENV["DB_PASSWORD"] ||= "@@"',
        ),
        (
            'password="Password"', 'type="password"', 'password: "required"', 'forgotPassword: "Forgotten"',
            'password = "********"', 'password = "${DB_PASSWORD}"', 'password = "changeme"', 'pwd = "/home/ada"',
            'def login(user, password):\n    """Opens a session."""', 'Pass = `entire` is shown',
            'password: "must be long"', 'tests: "pass"', 'hashedPassword = "bcrypt"',
        ),
    ),
    "an environment": (
        ("MYSQL_PWD=@@ mysql -u app", "ENV REDIS_PASS @@\nEXPOSE 80", "- name: DB_PASSWORD\n  value: @@\n",
         "TF_VAR_db_password=@@ terraform plan", "declare -x DB_PASSWORD=@@", "DB_PASSWORD: @@"),
        ("PWD=marigold", "POSTGRES_PASSWORD=postgres", "DB_PASSWORD=$(cat file)", "DB_PASSWORD: string",
         "DB_PASSWORD=${DB_PASSWORD:?missing}", "DB_PASSWORD=/run/secrets/db", "PASSWORD_MIN_LENGTH=marigold"),
    ),
    "a line among settings": (
        (
            "user: app\npassword: @@\nhost: db", "[db]\npass = @@\nport = 3306", "-  password: @@\n   host: db1",
            "a/b.yaml:17:  adminPassword: @@\na/b.yaml:18:  replicas: 2", "password: @@", "New password: @@",
            "    12\tpassword: @@\n    13\tport: 5432", "│ password: @@     │\n│ port: 5432 │", "requirepass @@",
            "- **User**: root\n- **Password**: @@",
        ),
        (
            "    user: str\n    password: Marigold\n", "Password: required",
            "class User:\n    password: str", "{\n  email: email,\n  password: hashed\n}", "Password: incorrect",
            "return {\n  user: name,\n  password: marigold\n}", "the password: see below\nor ask",
        ),
    ),
    "a pair": (
        ("user=app password=@@ host=db", "{user=app, password=@@, pool=10}", '["user=ada", "password=@@"]',
         "helm x --set auth.rootPassword=@@", "mount -o username=ada,password=@@", "-var 'db_password=@@'",
         "db: {host: db1, password: @@, port: 5432}", '{ user: "ada", pwd: "@@" }', "login: demo / pw: @@ -->"),
        ("connect(user=user, password=marigold)", "const a = {user: name, password: marigold};",
         "f(user=a,password=password)", "pass=37 fail=0"),
    ),
    "an option": (
        ("tool --password @@ run", "tool --password '@@' run", "['tool', '--password', '@@']",
         "redis-server --requirepass @@"),
        ("The --username and --password options are gone", "tool --password --verbose", "tool --password $PASS"),
    ),
    "a statement": (
        (
            "ALTER ROLE ada WITH LOGIN PASSWORD '@@'", "CREATE LOGIN ada WITH PASSWORD = N'@@', CHECK = OFF",
            "SET PASSWORD FOR 'ada'@'%' = PASSWORD('@@');", "CREATE USER ada IDENTIFIED BY '@@';",
            "ALTER USER ada IDENTIFIED BY @@;", "INSERT INTO users (name, password) VALUES ('ada', '@@')",
            "machine h login ada password @@", "machine h\nlogin ada\npassword @@\nmachine i",
            "username admin password 0 @@", "nmcli dev wifi connect Guest password '@@'",
        ),
        (
            "ALTER TABLE users DROP COLUMN password;", "resources identified by marigold are listed",
            "tags are identified by their names", "INSERT INTO users (name, password) VALUES ($1, $2)",
            "ALTER USER app WITH PASSWORD :pw", "enable password authentication", "the username and password given",
        ),
    ),
    "a call": (
        ('ds.setPassword("@@");', 'auth=("ada", "@@")', 'req.SetBasicAuth("ada", "@@")',
         "PlainCredentials('ada', '@@')", "define('DB_PASSWORD', '@@')", 'props.put("password", "@@");',
         "page.fill('#password', '@@')", "mysqli_connect('db', 'ada', '@@', 'shop')", 'jwt.sign(body, "@@")',
         'sql.Open("mysql", "root:@@@tcp(127.0.0.1:3306)/shop")', 'By.id("password")).sendKeys("@@")'),
        ('getByLabel("password", "marigold")', "['username', 'password', 'email']", 'check_password("marigold")',
         'auth=("user", "password")', "pick('DB_PASSWORD', 'DB_HOST')", "listen@tcp(127.0.0.1)"),
    ),
    "a prompt": (
        ("Username: root\nPassword: @@\nLast login: Tue", "[sudo] password for ada: @@\nSorry", "Passwort: @@",
         "Enter passphrase for key '/home/ada/.ssh/id': @@", 'expect "Password:" { send "@@\\r" }',
         "child.expect('Password:')\nchild.sendline('@@')"),
        ("Password: \nLast login: Tue", "Password (optional): none", "Password for ada is needed", "PASS src/a.test.js",
         "expect(password)"),
    ),
    "a sentence": (
        ('I used the password "@@" there.', "with the password `@@`:", "credentials: admin / @@"),
        ("The password is wrong, please", "password is case-sensitive", "The password is marigold coloured",
         "the password field", "password is auto-generated", "a secret to eu-west-3", "credentials: read/write"),
    ),
    "a table": (
        ("| user | password |\n|---|---|\n| ada | @@ |", "user,password,role\nada,@@,admin",
         " user | password \n------+----------\n ada  | @@\n(1 row)", "USER   PASSWORD\nada    @@",
         "+------+----------+\n| user | password |\n+------+----------+\n| ada  | @@ |\n+---+---+"),
        ("| method | password |\n|---|---|\n| oauth | marigold |", "syn\tpassword\nkey\tmarigold",
         "| user | password |\n|---|---|\n| ada | required |"),
    ),
    "a string that a command reads": (
        ("printf '%s' '@@' | gh secret set DB_PASSWORD", "cryptsetup open a b --key-file=- <<< '@@'",
         "echo '@@' | sudo -S true", "htpasswd -bc file ada @@", "lftp -u ada,@@ ftp.local",
         "args=['mysql', '-u', 'root', '-p@@']", '["sshpass", "-p", "@@", "ssh", "ada@host"]',
         "net use Z: \\\\filer\\share /user:ACME\\build @@7"),
        ("echo marigold | base64", "cat <<< 'marigold' # a key", "printf '%s' 'marigold' | wc # a secret",
         "args=['docker', 'run', '-p', 'marigold']", "ls -p marigold"),
    ),
    "a command that takes it by its position": (
        ("poetry config http-basic.acme ci @@", "bundle config set --global gems.local ada:@@", "bw unlock @@",
         "net user ada @@ /add", "rabbitmqctl add_user ada @@", "wpa_passphrase Guest @@", "sqlplus ada/@@@orcl",
         "pulumi config set --secret dbPassword @@", "mc alias set local http://x:9000 ada @@", "cf auth ada @@",
         "ansible-vault encrypt_string '@@' --name db", "schtasks /create /ru ada /rp @@", "htpasswd -nbB ada @@",
         "cmdkey /add:host /user:ada /pass:@@", "vault kv put secret/db pin=@@", "redis-cli -h cache AUTH @@"),
        ("bundle config set --local path vendor", "net user ada /delete", "bw login ada@x.com --method 0",
         "pulumi config set aws:region us-west-2", "vault login -method=oidc", "def add_user(name):", "cf auth --help",
         "poetry config virtualenvs.in-project true", "vault kv put secret/db @data.json", "mc alias list"),
    ),
    "an option of a command": (
        ("skopeo copy --src-creds ada:@@ docker://a docker://b", "snmpget -v3 -u ada -A @@ host", "rar a -hp@@ out.rar",
         "poetry publish -u ada -p @@", "apksigner sign --ks-pass pass:@@ a.apk", "evil-winrm -i host -u ada -p @@",
         "http --auth ada:@@ x.local", "mvn deploy -Dpassword=@@", "agent --secret @@ --port 9000"),
        ("mkdir -p marigold", "curl -X POST -A marigold https://x", "docker build --secret id=npmrc,src=.npmrc .",
         "ssh -p 2222 ada@host", "git add -A marigold", "app [--user USER] [--password PASSWORD]"),
    ),
    "words in a list": (
        ("argv[3] = \"--db-pass\"\nargv[4] = \"@@\"", "args:\n- --password\n- @@", '["--password",\n  "@@"]',
         'passwords: ["@@"]', "passwords:\n  - @@\n", '"password": ["@@"]'),
        ('const args = ["--password", password];', "--password\n    Sets the password of the account", 'tests = {"pass": ["marigold"]}',
         '"required": ["username", "password"]', "secrets:\n  - db_password\n", "args:\n- --password-file\n- /run/x"),
    ),
    "what a program prints of its values": (
        ("&{Host:db User:app Password:@@ Port:5432}", "map[password:@@ user:ada]", 'Config { password: Some("@@") }',
         "Config(password=SecretStr('@@'))", "{:user => \"ada\", :password => \"@@\"}", '{"password": {"S": "@@"}}'),
        ("{password:marigold,user:name}", "password: Some(password),", "User(name=name, password=marigold)",
         '"password": {"type": "string"}', "const {user, password} = marigold;"),
    ),
    "a setting without a sign": (
        ('storePassword "@@"\nkeyAlias "upload"', "AuthLDAPBindPassword @@", "auth_pass @@", "host x\nuser ada\npassword @@",
         "neighbor 10.0.0.1 password @@", "spring.datasource.password=@@", "[db]\nuser = ada\npassword = @@",
         "[crm]\nDriver=PostgreSQL\nUID=crm\nPWD=@@", "wpa_passphrase=@@"),
        ("userPassword string", "reset_password email", "PWD=/work\nUSER=ada", 'storePassword System.getenv("X")',
         "enable secret scanning", "this.password=marigold;", "spring.datasource.password=${DB_PASSWORD:}"),
    ),
    "a prompt of many words": (
        ("Enter new UNIX password: @@\nRetype new UNIX password: ", "ada@host's password: @@", "Enter PEM pass phrase: @@",
         "Current Kerberos password: @@", "Password: @@\nLogin Succeeded", "Mot de passe : @@", "? Password: @@",
         "Contraseña: @@", "密码：@@"),
        ("Enter new password: \n", "New password: required", "Password: [hidden]", "Mot de passe : oublié ?"),
    ),
    "a default, a hash, a variable": (
        ("${DB_PASSWORD:-@@}", "parser.add_argument('--password', default='@@')", 'password <- "@@"', 'var pwd = "@@";',
         'Const DB_PASSWORD As String = "@@"', 'bcrypt.hash("@@", 10)', 'flag.String("password", "@@", "help")',
         "create_superuser('ada', 'a@x.io', '@@')", 'smtp.login(user, "@@")', "rootpw --plaintext @@",
         "| SMTP_PASSWORD | @@ |", "- {name: root, password: @@, type: text}"),
        ("${DB_PASSWORD:-password}", "parser.add_argument('--password', default=None)", 'var pwd = "/srv/app";',
         '{Style: Full, Pwd: marigold, Expected: "~"},', "s.bind(os.path.join(folder, 'marigold'))",
         "create_user(name, email, password)", "bcrypt.hash(password, 10)"),
    ),
    "a table in a box": (
        ("│ user │ password │\n├──────┼──────────┤\n│ ada  │ @@ │\n", "│ Username │ ada │\n│ Password │ @@ │",
         "user     | ada\npassword | @@", '"out": "NAME\\tPASSWORD\\nroot\\t@@\\n"', "Username   Password\n--------   --------\nada        @@",
         "Key         Value\n---         -----\npassword    @@"),
        ("| Field | Type |\n|---|---|\n| password | varchar(255) |", "password  text\nusername  text",
         "| password | The user's password |", "│ Passwort │ vergessen │"),
    ),
}  # fmt: skip
HITS = [
    pytest.param(text, id=f"{name}-{at}") for name, pair in PLACES.items() for at, text in enumerate(pair[0])
]
NEIGHBOURS = [
    pytest.param(text, id=f"{name}-{at}") for name, pair in PLACES.items() for at, text in enumerate(pair[1])
]


@pytest.mark.parametrize("text", HITS)
def test_a_plain_word_is_masked_where_it_is_certain_that_one_is_given(text: str) -> None:
    masked = redact(text.replace("@@@", WORD + "@").replace("@@", WORD))
    assert WORD not in masked.text
    kind = next(iter(masked.found))
    assert masked.text == text.replace("@@7", "@@").replace("@@@", "@@\0").replace(
        "@@", f"[redacted:{kind}]"
    ).replace("\0", "@")


# A passphrase: where nothing but a quote, an element or the line tells its end.
@pytest.mark.parametrize(
    "text",
    [
        "docker run -e 'ADMIN_PASS=@@' app", 'terraform apply -var="db_password=@@"', "<password>@@</password>",
        'GRANT ALL ON a.* TO b IDENTIFIED BY "@@";', "db:\n  user: ada\n  password: @@\n  port: 5432",
        "curl --user 'ada:@@' https://x", 'echo "@@" | sudo -S true', "[mail]\nuser = ada\npassword = @@\n",
        '"Env": [\n  "DB_PASSWORD=@@"\n]', "server.login('ada', '@@')", "psk=\"@@\"",
    ],
)  # fmt: skip
def test_a_passphrase_is_masked_to_its_end(text: str) -> None:
    assert redact(text.replace("@@", PHRASE)).text == text.replace("@@", "[redacted:password]")


def test_what_follows_an_assignment_on_a_command_line_stays() -> None:
    assert redact(f"DB_PASSWORD={WORD} run all jobs").text == "DB_PASSWORD=[redacted:password] run all jobs"


@pytest.mark.parametrize("word", ["thistle", "monkey", "barley", "passionflower"])
def test_a_word_is_no_stand_in_because_it_has_one_inside(word: str) -> None:
    assert word not in redact(f'password = "{word}"').text


@pytest.mark.parametrize("text", NEIGHBOURS)
def test_what_is_written_nearly_alike_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        'BORG_PASSPHRASE="@@" borg', 'DATABASES["x"]["PASSWORD"] = "@@"', "{ jwtSecret: '@@', port: 1 }",
        '{"name": "SESSION_SECRET", "value": "@@"}', "+ mysql -uroot '-p@@' -e 'select 1'", "gpg --passphrase '@@' -d x",
    ],
)  # fmt: skip
def test_a_phrase_with_blanks_is_masked_whole(text: str) -> None:
    masked = redact(text.replace("@@", PHRASE)).text
    assert not [word for word in PHRASE.split() if word in masked and word != "and"]


def test_words_that_are_joined_are_told_in_a_sentence() -> None:
    for text in (
        "the admin password is @@, please",
        "The password was changed to @@.",
        "Das Passwort für das Haus lautet @@, ja",
    ):
        assert redact(text.replace("@@", JOINED)).text == text.replace("@@", "[redacted:password]")


# -- what is no value ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", sorted(NAMES | {word for word in WORDS if word.isascii()}))
def test_no_word_of_the_lists_is_taken_for_a_password(value: str) -> None:
    for text in (f'password = "{value}"', f"DB_PASSWORD={value}", f"user: ada\npassword: {value}\nhost: db"):
        assert redact(text).text == text


@pytest.mark.parametrize(
    "value", [*PLANTS, "rootbeer", "tulip_field", "open.sesame.42", "Frühstück24", "kafkaKey_2"]
)
def test_a_word_with_a_meaning_of_its_own_is_one(value: str) -> None:
    assert is_given(value)
    assert redact(f"DB_PASSWORD={value}").text == "DB_PASSWORD=[redacted:password]"


def test_a_message_is_no_phrase_and_an_adjective_is_not_told() -> None:
    assert is_phrase("larch and pine")
    assert not any(is_phrase(f"larch {word} pine") for word in MESSAGES)
    assert is_told("moonlight-sonata")
    assert not any(is_told(f"{word}-coloured") for word in ADJECTIVES)


# -- what is laid over a text ------------------------------------------------------------------------------

EDITS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.sampled_from(["", "x", "yz"])), max_size=6
)


@examples(300)
@given(st.text("abc", min_size=70, max_size=80), EDITS)
def test_what_is_found_in_a_reading_is_told_by_its_place(
    text: str, steps: list[tuple[int, int, str]]
) -> None:
    edits, at = [], 0
    for gap, length, new in steps:
        edits.append((at + gap, at + gap + length, new))
        at += gap + length + 1
    reading = read(text, edits)
    kept = [at for at in range(len(text)) if not any(start <= at < end for start, end, _ in edits)]
    added = {
        place + offset
        for (_, _, new), place in zip(edits, reading.places, strict=True)
        for offset in range(len(new))
    }
    own = [at for at in range(len(reading.text)) if at not in added]
    assert [reading.text[at] for at in own] == [text[at] for at in kept]
    assert [reading.start(at) for at in own] == kept
    assert [reading.end(at + 1) for at in own] == [at + 1 for at in kept]


def test_colours_and_escapes_hide_nothing() -> None:
    for text in (
        f"\x1b[36mDB_PASSWORD\x1b[0m=\x1b[33m{WORD}\x1b[0m",
        f'{{"out":"HOST=db\\nDB_PASS={WORD}\\nPORT=1"}}',
        f'{{"user":"a","passw\\u006frd":"{WORD}"}}',
        f'{{"dsn":"mysql:\\/\\/root:{WORD}@db\\/app"}}',
        json.dumps({"a": json.dumps({"b": f"user: ada\npassword: {WORD}\nhost: db"})}),
    ):
        masked = redact(text).text
        assert WORD not in masked
        assert masked.replace("[redacted:password]", WORD).replace("[redacted:url-password]", WORD) == text
    assert unlayered('a\\"b\\\\\\"c\\u0041\x1b[1md\\/').text == 'a"b"cAd/'
    plain = "C:\\new\\table \\d+ \x1b[1mbold\x1b[0m passwords"
    assert redact(plain).text == plain


# -- what a command prints, seeds, keys ----------------------------------------------------------------------


def test_the_line_after_a_command_that_prints_a_secret_is_masked() -> None:
    drawn = TOKEN[:16]
    for command in (
        'kubectl get secret x -o jsonpath="{.data.a}" | base64 -d', "pass show mail/ada", "op read op://a/b/c",
        "vault kv get -field=x secret/y", "aws secretsmanager get-secret-value --secret-id x --output text",
    ):  # fmt: skip
        assert redact(f"$ {command}\n{drawn}\n$ ls").text == f"$ {command}\n[redacted:secret]\n$ ls"
        listing = f"$ {command}\nNAME TYPE\n$ ls"
        assert redact(listing).text == listing
    assert redact(f"$ kubectl get secrets\n{drawn}").text == f"$ kubectl get secrets\n{drawn}"


def test_seeds_and_codes_are_masked() -> None:
    words = " ".join(
        random.Random(2).choices(["ribbon", "velvet", "orphan", "cactus", "jungle", "mimic"], k=12)
    )
    for text in (f"Seed phrase (write it down): {words}", f'MNEMONIC="{words}"'):
        assert words not in redact(text).text
    assert (
        redact("TOTP seed for the bot: QXCI KQIS FZ3C SQQ7").text
        == "TOTP seed for the bot: [redacted:secret]"
    )
    codes = redact("Recovery codes for two-factor authentication:\n4f9c-2b1a\n8d7e-33aa\n").text
    assert codes.count("[redacted:secret]") == 2
    for text in (
        "The phrase that we have here is one of the many and it was not a seed for anything",
        "Seed phrase: twelve words", "TOTP IS USED HERE", "The error codes are 1234-5678 and so on",
    ):  # fmt: skip
        assert redact(text).text == text


@pytest.mark.parametrize("mark", ["AgMBAAECgg", "xIDAQABAoIx", "xxCAwEAAQKCx"])
def test_the_middle_of_a_key_is_masked_with_its_lines(mark: str) -> None:
    letters = ALNUM + "+/"
    lines = ["".join(random.Random(at).choices(letters, k=64)) for at in range(5)]
    lines[2] = lines[2][:20] + mark + lines[2][20 + len(mark) :]
    text = "(lines 4-8)\n" + "\n".join(lines) + "\nthe end"
    assert redact(text).text == "(lines 4-8)\n[redacted:private-key]\nthe end"
    picture = "\n".join(line.replace(mark, "A" * len(mark)) for line in lines)
    assert redact(picture).text == picture


def test_a_token_in_two_strings_is_masked_in_both() -> None:
    one, two = TOKEN[:16], TOKEN[16:]
    for text in (
        f'TOKEN="{one}""{two}"',
        f'API_TOKEN = (\n    "{one}"\n    "{two}"\n)',
        f"api_key = '{one}' + '{two}'",
    ):
        masked = redact(text).text
        assert one not in masked
        assert two not in masked
    names = f"names = ['{one}', '{two}']"
    assert redact(names).text == names


def test_an_encoded_login_is_masked_with_its_password() -> None:
    encoded = base64.b64encode(f"robot:{WORD}".encode()).decode()
    for text in (
        f">>> b64encode(b'robot:{WORD}')\nb'{encoded}'",
        f"$ echo '{encoded}' | base64 -d\nrobot:{WORD}\n",
    ):
        masked = redact(text).text
        assert WORD not in masked
        assert encoded.rstrip("=") not in masked
    sentence = base64.b64encode(f"{WORD} is a plant".encode()).decode()
    assert redact(f"$ echo '{sentence}' | base64 -d").text == f"$ echo '{sentence}' | base64 -d"


def test_a_plain_word_is_masked_by_the_name_of_its_field() -> None:
    value, found = redact_object(
        {"db": {"user": "ada", "password": WORD}, "labels": {"password": "Passwort"}}
    )
    assert value == {
        "db": {"user": "ada", "password": "[redacted:password]"},
        "labels": {"password": "Passwort"},
    }
    assert found == {"password": 1}
