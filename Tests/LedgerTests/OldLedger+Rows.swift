extension OldLedger {
  /// Rows of version 3, with work in every state.
  static let rows = #"""
    INSERT INTO messages (conversation_id, message_id, sender_id, participants, text, created_at) VALUES
      ('c', '0192f0e4-7c3a-7065-8a00-000000000065', 'ann', '["ann","ben"]', NULL, 1699999000000),
      ('c', 'm1', 'ann', '["ann","ben"]', 'two files', 1699999000000),
      ('d', 'm2', 'ben', '[]', 'a "text"', 1699999000000),
      ('c', '0192f0e4-7c3a-7069-8a00-000000000069', 'ann', '["ann"]', NULL, 1699999000000),
      ('c', '0192f0e4-7c3a-706b-8a00-00000000006b', 'eve', '[]', NULL, 1699999000000),
      ('d', '0192f0e4-7c3a-706d-8a00-00000000006d', 'ben', '["ann","b\"en"]', NULL, 1699999000000);
    INSERT INTO lines (key, fingerprint) VALUES
      (1, 'mime 1'),
      (2, 'mime 1, image 2');
    INSERT INTO attachments (key, id, conversation_id, message_id, own_message, file_name, declared_type, source,
      source_size, source_modified, status, media_type, size_bytes, sha256, metadata, url, reason_stage, reason_code,
      reason_message, created_at, finished_at, line_key) VALUES
      (1, '0192f0e4-7c3a-7001-8a00-000000000001', 'c', '0192f0e4-7c3a-7065-8a00-000000000065', 1, 'due.txt', NULL,
        x'2f696e2f6475652e747874', 11, 1001, 'queued', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, 1699999000001,
        NULL, NULL),
      (2, '0192f0e4-7c3a-7002-8a00-000000000002', 'c', 'm1', 0, 'scheduled.txt', 'text/plain',
        x'2f696e2f7363686564756c65642e747874', 12, 1002, 'queued', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL,
        1699999000002, NULL, NULL),
      (3, '0192f0e4-7c3a-7003-8a00-000000000003', 'c', 'm1', 0, 'leased.txt', NULL, x'2f696e2f6c65617365642e747874',
        13, 1003, 'queued', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, 1699999000003, NULL, NULL),
      (4, '0192f0e4-7c3a-7004-8a00-000000000004', 'd', 'm2', 0, 'one.pdf', 'application/pdf',
        x'2f696e2f6f6e652e706466', 5, 1004, 'completed', 'application/pdf', 5,
        x'0909090909090909090909090909090909090909090909090909090909090909', '{"pdf.pages":2}', 'documents/one.pdf',
        NULL, NULL, NULL, 1699999000004, 1699999000400, 1),
      (5, '0192f0e4-7c3a-7005-8a00-000000000005', 'c', '0192f0e4-7c3a-7069-8a00-000000000069', 1, 'same.pdf', NULL,
        x'2f696e2f73616d652e706466', 5, 1005, 'completed', 'application/pdf', 5,
        x'0909090909090909090909090909090909090909090909090909090909090909', '{"pdf.pages":2}', 'documents/one.pdf',
        NULL, NULL, NULL, 1699999000005, 1699999000500, 1),
      (6, '0192f0e4-7c3a-7006-8a00-000000000006', 'd', 'm2', 0, 'large.bin', NULL, x'2f696e2f6c617267652e62696e',
        600, 1006, 'rejected', 'application/octet-stream', 600,
        x'0606060606060606060606060606060606060606060606060606060606060606', '{}', NULL, 'size', 'too-large',
        '600 bytes, and 500 are allowed', 1699999000006, 1699999000600, NULL),
      (7, '0192f0e4-7c3a-7007-8a00-000000000007', 'c', '0192f0e4-7c3a-706b-8a00-00000000006b', 1, 'gone.txt', NULL,
        x'2f696e2f676f6e652e747874', 7, 1007, 'failed', NULL, NULL, NULL, '{}', NULL, 'source', 'missing',
        'it is gone', 1699999000007, 1699999000700, NULL),
      (8, '0192f0e4-7c3a-7008-8a00-000000000008', 'd', 'm2', 0, 'virus.exe', NULL, x'2f696e2f76697275732e657865', 8,
        1008, 'quarantined', 'application/x-dosexec', 8,
        x'0808080808080808080808080808080808080808080808080808080808080808', '{}', 'quarantine/virus.exe', 'scan',
        'infected', 'a test virus', 1699999000008, 1699999000800, NULL),
      (9, '0192f0e4-7c3a-7009-8a00-000000000009', 'd', '0192f0e4-7c3a-706d-8a00-00000000006d', 1, 'ü.jpg', NULL,
        x'2f696e2ffffe2e6a7067', 9, 1009, 'completed', 'image/jpeg', 9,
        x'0707070707070707070707070707070707070707070707070707070707070707',
        '{"image.width":3,"original.sha256":"0101010101010101010101010101010101010101010101010101010101010101"}',
        'images/3.jpg', NULL, NULL, NULL, 1699999000009, 1699999000900, 2);
    INSERT INTO events (key, attachment_key, type, data, created_at) VALUES
      (1, 4, 'attachment.completed', '{"status":"completed"}', 1699999000400),
      (2, 6, 'attachment.rejected', '{"status":"rejected"}', 1699999000600),
      (3, 8, 'attachment.quarantined', '{}', 1699999000800),
      (4, 5, 'attachment.completed', '{}', 1699999000500);
    INSERT INTO deliveries (key, id, event_key, channel, recipient, status, reason_code, reason_message,
      finished_at) VALUES
      (1, '0192f0e4-7c3a-70c9-8a00-0000000000c9', 1, 'events', 'ann', 'pending', NULL, NULL, NULL),
      (2, '0192f0e4-7c3a-70ca-8a00-0000000000ca', 2, 'hook', 'ann', 'pending', 'unreachable', 'nobody answers', NULL),
      (3, '0192f0e4-7c3a-70cb-8a00-0000000000cb', 3, 'hook', 'ben', 'pending', NULL, NULL, NULL),
      (4, '0192f0e4-7c3a-70c9-8a00-0000000000c9', 1, 'hook', 'ann', 'delivered', NULL, NULL, 1699999000410),
      (5, '0192f0e4-7c3a-70cd-8a00-0000000000cd', 1, 'events', 'ben', 'dead', 'gone', '410 Gone', 1699999000420),
      (6, '0192f0e4-7c3a-70ce-8a00-0000000000ce', 4, 'events', 'ann', 'delivered', NULL, NULL, 1699999000510);
    INSERT INTO jobs (key, lane, priority, attachment_key, delivery_key, state, due_at, token, boot, attempts,
      uncounted, crashes, suspicions) VALUES
      (1, 'attachments', 0, 1, NULL, 'due', 1699999000001, NULL, NULL, 0, 0, 0, 0),
      (2, 'attachments', 5, 2, NULL, 'scheduled', 1700008000000, NULL, NULL, 2, 1, 1, 0),
      (3, 'attachments', -1, 3, NULL, 'leased', 1699999000003, 41, 7, 3, 1, 0, 2),
      (14, 'channel:events', 0, NULL, 1, 'due', 1699999000400, NULL, NULL, 0, 0, 0, 0),
      (15, 'channel:hook', 0, NULL, 2, 'scheduled', 1700007000000, NULL, NULL, 4, 0, 0, 0),
      (16, 'channel:hook', 3, NULL, 3, 'leased', 1699999000800, 40, 7, 1, 0, 0, 1);
    INSERT INTO attempts (attachment_key, number, step, stage, verdict, code, message, microseconds,
      recorded_at) VALUES
      (2, 1, 0, 'mime', 'pass', NULL, NULL, 20, 1699999000050),
      (2, 2, 0, 'mime', 'crash', 'signal', 'SIGSEGV', 21, 1699999000060),
      (4, 1, 0, 'mime', 'pass', NULL, NULL, 12, 1699999000400),
      (4, 1, 1, 'pdf', 'pass', NULL, NULL, 13, 1699999000400),
      (5, 1, 0, 'mime', 'pass', NULL, NULL, 12, 1699999000500),
      (6, 1, 0, 'size', 'reject', 'too-large', '600 bytes, and 500 are allowed', 1, 1699999000600),
      (7, 1, 0, 'source', 'fail', 'missing', 'it is gone', 2, 1699999000700),
      (8, 3, 0, 'scan', 'quarantine', 'infected', 'a test virus', 9, 1699999000800),
      (9, 1, 0, 'mime', 'pass', NULL, NULL, 7, 1699999000900);
    INSERT INTO lanes (name, paused_code, paused_reason, paused_at) VALUES
      ('channel:hook', 'unreachable', 'nobody answers', 1699999000700),
      ('channel:events', NULL, NULL, NULL);
    UPDATE ledger SET boot = 7, token = 41, frontier = 9, machine = 'a run of the kernel', stalls = 1,
      seen_at = 1699999000900;
    UPDATE counts SET attachments = 3,
      bytes = CASE status WHEN 'completed' THEN 19 ELSE 0 END WHERE status IN ('queued', 'completed');
    UPDATE counts SET attachments = 1,
      bytes = CASE status WHEN 'rejected' THEN 600 WHEN 'quarantined' THEN 8 ELSE 0 END
      WHERE status IN ('rejected', 'failed', 'quarantined');
    """#
}
