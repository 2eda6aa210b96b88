// Prints one JSON line per described command or option of the @withfig/autocomplete specs (MIT).
// usage: node fig.mjs FOLDER_OF_THE_UNPACKED_PACKAGE OUT.jsonl
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const lines = [];
const first = (name) => (Array.isArray(name) ? name[name.length - 1] : name) || "";
const emit = (about, command) => {
  if (typeof about === "string" && about.length > 8 && command) lines.push(JSON.stringify([about, command]));
};
const args = (node) =>
  (Array.isArray(node.args) ? node.args : node.args ? [node.args] : []).map((a) => (a && a.name ? `<${a.name}>` : "")).join(" ").trim();

function walk(spec, path, depth) {
  if (!spec || depth > 6) return;
  const here = [...path, first(spec.name)].filter(Boolean);
  const command = here.join(" ");
  emit(spec.description, `${command} ${args(spec)}`.trim());
  for (const option of spec.options || []) emit(option.description, `${command} ${first(option.name)} ${args(option)}`.trim());
  for (const sub of spec.subcommands || []) walk(sub, here, depth + 1);
}

const files = (folder) =>
  readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : path.endsWith(".js") ? [path] : [];
  });

for (const path of files(join(process.argv[2], "build"))) {
  try {
    let spec = (await import(pathToFileURL(path))).default;
    // aws/ and gcloud/ specs are one subcommand a file; the folder names the program.
    const parent = /build\/(aws|gcloud|az)\//.exec(path);
    if (spec && typeof spec === "object") walk(spec, parent ? [parent[1]] : [], 0);
  } catch {
    // A spec that needs the app around it is left out.
  }
}
writeFileSync(process.argv[3], lines.join("\n"));
process.exit(0); // some specs leave timers behind
