-- What OpenCode 1.18 keeps of a conversation, invented: two sessions, one a subagent's, and what else is in the file.
PRAGMA journal_mode = DELETE;
CREATE TABLE account (id text PRIMARY KEY, email text NOT NULL, access_token text NOT NULL);
INSERT INTO account VALUES ('acc_1', 'ada@harbor.example', 'token-that-nobody-reads');
CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, priority text NOT NULL, position integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, CONSTRAINT todo_pk PRIMARY KEY(session_id, position));
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);

INSERT INTO event_sequence VALUES ('ses_pier', 41, NULL), ('ses_crane', 12, NULL);
INSERT INTO session VALUES
 ('ses_pier', 'global', NULL, 'neon-pier', '/code/harbor', 'Why the crane stops', '1.18.33', 0.25, 1034, 1790000000000, 1790000009000),
 ('ses_crane', 'global', 'ses_pier', 'calm-crane', '/code/harbor', 'Child session - 2026-09-21T13:33:20.000Z', '1.18.33', 0, 90, 1790000003000, 1790000004500);
INSERT INTO message VALUES
 ('msg_1', 'ses_pier', 1790000000100, 1790000009000, '{"role":"user","time":{"created":1790000000100},"agent":"build","model":{"providerID":"local","modelID":"tide-1"}}'),
 ('msg_2', 'ses_pier', 1790000001000, 1790000005000, '{"role":"assistant","parentID":"msg_1","modelID":"tide-1","providerID":"local","mode":"build","path":{"cwd":"/code/harbor","root":"/"},"cost":0.25,"tokens":{"input":1034,"output":49,"reasoning":7,"cache":{"read":200,"write":10}},"time":{"created":1790000001000,"completed":1790000005000},"finish":"tool-calls"}'),
 ('msg_3', 'ses_pier', 1790000006000, 1790000007000, '{"role":"assistant","parentID":"msg_1","modelID":"tide-1","providerID":"local","mode":"build","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1790000006000,"completed":1790000007000},"error":{"name":"MessageAbortedError","data":{"message":"The operation was aborted."}}}'),
 ('msg_4', 'ses_pier', 1790000008000, 1790000008500, '{"role":"assistant","parentID":"msg_1","summary":true,"modelID":"tide-1","providerID":"local","mode":"compaction","time":{"created":1790000008000,"completed":1790000008500}}'),
 ('msg_5', 'ses_crane', 1790000003000, 1790000003000, '{"role":"user","time":{"created":1790000003000},"agent":"general","model":{"providerID":"local","modelID":"tide-1"}}'),
 ('msg_6', 'ses_crane', 1790000003100, 1790000004500, '{"role":"assistant","parentID":"msg_5","modelID":"tide-1","providerID":"local","mode":"general","time":{"created":1790000003100,"completed":1790000004500},"finish":"stop"}');
INSERT INTO part VALUES
 ('prt_01', 'msg_1', 'ses_pier', 1790000000101, 1790000000101, '{"type":"text","text":"Why does the crane stop at noon?"}'),
 ('prt_02', 'msg_1', 'ses_pier', 1790000000102, 1790000000102, '{"type":"text","synthetic":true,"text":"Called the Read tool with the following input: {}"}'),
 ('prt_03', 'msg_1', 'ses_pier', 1790000000103, 1790000000103, '{"type":"file","mime":"image/png","filename":"crane.png","url":"data:image/png;base64,AAAA"}'),
 ('prt_04', 'msg_1', 'ses_pier', 1790000000104, 1790000000104, '{"type":"file","mime":"text/plain","filename":"src/crane.py","url":"file:///code/harbor/src/crane.py"}'),
 ('prt_05', 'msg_1', 'ses_pier', 1790000000105, 1790000000105, '{"type":"text","ignored":true,"text":"a plugin tells the person"}'),
 ('prt_10', 'msg_2', 'ses_pier', 1790000001001, 1790000001001, '{"type":"step-start","snapshot":"aa11"}'),
 ('prt_11', 'msg_2', 'ses_pier', 1790000001100, 1790000001200, '{"type":"reasoning","text":"Look at the clock first.","time":{"start":1790000001100,"end":1790000001200}}'),
 ('prt_12', 'msg_2', 'ses_pier', 1790000001300, 1790000001400, '{"type":"text","text":"Let me look at its clock.","time":{"start":1790000001300,"end":1790000001400}}'),
 ('prt_13', 'msg_2', 'ses_pier', 1790000001500, 1790000002000, '{"type":"tool","tool":"bash","callID":"call_1","state":{"status":"completed","input":{"command":"cat clock.txt","description":"Shows the clock"},"output":"12:00\n","metadata":{"output":"12:00\n","exit":0},"title":"Shows the clock","time":{"start":1790000001600,"end":1790000001900}}}'),
 ('prt_14', 'msg_2', 'ses_pier', 1790000002100, 1790000002500, '{"type":"tool","tool":"bash","callID":"call_1","state":{"status":"completed","input":{"command":"make crane"},"output":"no rule to make crane\n","metadata":{"exit":2},"time":{"start":1790000002200,"end":1790000002400}}}'),
 ('prt_15', 'msg_2', 'ses_pier', 1790000002600, 1790000002800, '{"type":"tool","tool":"edit","callID":"call_3","state":{"status":"error","input":{"filePath":"/code/harbor/src/crane.py","oldString":"noon","newString":"never"},"error":"The user rejected permission to use this specific tool call.","time":{"start":1790000002600,"end":1790000002800}}}'),
 ('prt_16', 'msg_2', 'ses_pier', 1790000002900, 1790000004800, '{"type":"tool","tool":"task","callID":"call_4","state":{"status":"completed","input":{"description":"ask the crane","prompt":"When was it oiled?","subagent_type":"general"},"output":"In May.","metadata":{"sessionId":"ses_crane"},"time":{"start":1790000002900,"end":1790000004800}}}'),
 ('prt_17', 'msg_2', 'ses_pier', 1790000004810, 1790000004810, '{"type":"patch","hash":"bb22","files":["/code/harbor/src/crane.py"]}'),
 ('prt_18', 'msg_2', 'ses_pier', 1790000004900, 1790000004900, '{"type":"step-finish","reason":"tool-calls","snapshot":"bb22","cost":0.25,"tokens":{"input":1034,"output":49,"reasoning":7,"cache":{"read":200,"write":10}}}'),
 ('prt_20', 'msg_3', 'ses_pier', 1790000006100, 1790000006900, '{"type":"tool","tool":"read","callID":"call_5","state":{"status":"running","input":{"filePath":"/code/harbor/oil.md"},"time":{"start":1790000006200}}}'),
 ('prt_21', 'msg_3', 'ses_pier', 1790000006950, 1790000006950, '{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"overloaded"}},"time":{"created":1790000006950}}'),
 ('prt_22', 'msg_3', 'ses_pier', 1790000006960, 1790000006960, '{"type":"agent","name":"plan"}'),
 ('prt_23', 'msg_3', 'ses_pier', 1790000006970, 1790000006970, '{"type":"subtask","prompt":"/review the oil","description":"review","agent":"general"}'),
 ('prt_24', 'msg_3', 'ses_pier', 1790000006980, 1790000006980, '{"type":"compaction","auto":true}'),
 ('prt_25', 'msg_3', 'ses_pier', 1790000006990, 1790000006990, '{"type":"snapshot","snapshot":"cc33"}'),
 ('prt_30', 'msg_4', 'ses_pier', 1790000008100, 1790000008400, '{"type":"text","text":"The crane stops at noon by its clock.","time":{"start":1790000008100,"end":1790000008400}}'),
 ('prt_40', 'msg_5', 'ses_crane', 1790000003001, 1790000003001, '{"type":"text","text":"When was it oiled?"}'),
 ('prt_41', 'msg_6', 'ses_crane', 1790000004000, 1790000004400, '{"type":"text","text":"In May.","time":{"start":1790000004000,"end":1790000004400}}');
INSERT INTO todo VALUES ('ses_pier', 'Wind the clock', 'pending', 'high', 0, 1790000002700, 1790000002700);
