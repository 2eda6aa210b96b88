// claude-mem's own classes, out of the worker it ships, put through what it does with Chroma.
//
//   bun claude_mem.cjs WORKER STORY       prints one line `RESULT {...}` for each step
//
// The bundle has short names for its classes and exports neither: they are found by what they begin with.
const Module = require("module"), fs = require("fs"), path = require("path");

function classes(file) {
  const source = fs.readFileSync(file, "utf8").replace(/^#!.*/, "");
  const name = (begins) => {
    const found = source.match(begins);
    if (!found) throw new Error(`claude-mem has changed: nothing begins like ${begins}`);
    return found[1];
  };
  const manager = name(/([A-Za-z_$][\w$]*)=class [\w$]+\{static instance=null;client=null;transport=null/);
  const sync = name(/([A-Za-z_$][\w$]*)=class [\w$]+\{project;collectionName/);
  const made = new Module(file, module);
  made.filename = file;
  made.paths = Module._nodeModulePaths(path.dirname(file));
  made._compile(`${source}\n;module.exports.found={Manager:${manager},Sync:${sync}};`, file);
  return made.exports.found;
}

const tell = (step, value) => fs.writeSync(1, `\nRESULT ${JSON.stringify({ step, value })}\n`);

function documents(first, count, project, words) {
  return Array.from({ length: count }, (_, at) => ({
    id: `obs_${first + at}_narrative`,
    document: `${words} ${first + at}`,
    metadata: {
      sqlite_id: first + at, doc_type: "observation", memory_session_id: "s1", project,
      merged_into_project: null, platform_source: "claude", created_at_epoch: 1772546400000 + at,
      type: "discovery", title: "Untitled", subtitle: "", field_type: "narrative",
    },
  }));
}

const within = (project) => ({
  $and: [{ doc_type: "observation" }, { $or: [{ project }, { merged_into_project: project }] }],
});

async function story({ Manager, Sync }) {
  const manager = Manager.getInstance();
  tell("healthy", await manager.isHealthy());
  tell("probe before", await manager.probeSemanticSearch());
  const sync = new Sync("claude-mem");
  await sync.ensureCollectionExists();
  tell("probe", await manager.probeSemanticSearch());
  const count = () => manager.callTool("chroma_get_collection_count", { collection_name: "cm__claude-mem" });

  const harbor = documents(1, 250, "harbor", "the token of the login expires after");
  tell("added", await sync.addDocuments(harbor));
  tell("added again", await sync.addDocuments(harbor));
  const mixed = [...documents(201, 50, "harbor", "a lighthouse keeper wrote"), ...documents(251, 50, "quay", "a lighthouse keeper wrote")];
  tell("added mixed", await sync.addDocuments(mixed));
  tell("count", await count());
  tell("query", (await sync.queryChroma("lighthouse keeper", 100, within("harbor"))).ids.sort((a, b) => a - b));
  tell("query elsewhere", (await sync.queryChroma("lighthouse keeper", 100, within("pier"))).ids);

  await sync.updateMergedIntoProject([251, 252, 900].map((sqliteId) => ({ sqliteId, docType: "observation" })), "pier");
  const merged = await sync.queryChroma("lighthouse keeper", 100, within("pier"));
  tell("merged", { ids: merged.ids.sort(), metadata: merged.metadatas[0] });

  const { Database } = require("bun:sqlite");
  const db = new Database(":memory:");
  db.run("CREATE TABLE observations (id INTEGER, project TEXT)");
  db.run("CREATE TABLE session_summaries (id INTEGER, project TEXT)");
  db.run("CREATE TABLE sdk_sessions (id INTEGER, project TEXT)");
  db.run("CREATE TABLE user_prompts (id INTEGER, session_db_id INTEGER)");
  for (let id = 1001; id <= 2300; id++) db.run("INSERT INTO observations VALUES (?, 'bulk')", [id]);
  tell("added many", await sync.addDocuments(documents(1001, 1250, "bulk", "a note of the harbour master")));
  await sync.bootstrapWatermarksFromChroma("bulk", { db });

  const observation = { type: "bugfix", title: "Expiry", subtitle: null, facts: ["stored as a duration", "read as a date"],
    narrative: "The expiry was stored as a duration.", concepts: ["auth"], files_read: ["a.py"], files_modified: [] };
  await sync.syncObservation(5001, "s9", "harbor", observation, 3, 1772546400000, "claude");
  const summary = { request: "Fix the logout", investigated: "token_store.py", learned: "", completed: "a fix", next_steps: "", notes: null };
  await sync.syncSummary(6001, "s9", "harbor", summary, 3, 1772546400000, "claude");
  await sync.syncUserPrompt(7001, "s9", "harbor", "why are users logged out", 3, 1772546400000, "claude");
  tell("kinds", (await sync.queryChroma("logged out", 100, { doc_type: "user_prompt" })).ids);
  const state = JSON.parse(fs.readFileSync(path.join(process.env.CLAUDE_MEM_DATA_DIR, "chroma-sync-state.json"), "utf8"));
  tell("watermarks", state);
  tell("process", manager.transport._process.pid);

  await Manager.reset();
  const again = Manager.getInstance();
  tell("healthy again", await again.isHealthy());
  tell("count again", await again.callTool("chroma_get_collection_count", { collection_name: "cm__claude-mem" }));
}

// A client that dies in the middle of its work: whoever started it kills it when it has said so.
async function dying({ Manager, Sync }) {
  const sync = new Sync("claude-mem");
  let first = 1;
  for (;;) {
    await sync.addDocuments(documents(first, 300, "harbor", "written until the end"));
    tell("added", (first += 300) - 1);
  }
}

const [worker, chosen] = process.argv.slice(2);
const found = classes(worker);
({ story, dying })[chosen](found).then(async () => {
  await found.Manager.reset();
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
