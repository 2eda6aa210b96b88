-- What Cursor's editor kept in `workspaceStorage/HASH/state.vscdb` in 2024, invented: all chats of a window in one value.
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', '{"tabs":[{"tabId":"tab-0001","chatTitle":"Nets and knots","lastSendTime":1718000000000,"bubbles":[{"type":"user","id":"t1","text":"Who mends the nets?"},{"type":"ai","id":"t2","rawText":"Ada does.","modelType":"tide-0"}]}, {"tabId":"tab-0002","bubbles":[{"type":"user","text":"And the knots?"}]}],"selectedTabId":"tab-0001"}');
INSERT INTO ItemTable VALUES ('secret://x', 'token-that-nobody-reads');
