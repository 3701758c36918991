import Foundation

/// A stage in Python that does what its attachments say: their content is Python. An attachment that begins with `well-behaved`
/// passes.
enum ActsProgram {
  /// What acts may use: `say` says a line, `attachment` and `setup` are what it was told, `call` makes a system call and raises
  /// the error that it gives.
  static let source = #"""
    import ctypes, json, os, signal, socket, struct, subprocess, sys, threading, time
    libc = ctypes.CDLL(None, use_errno=True)
    def call(number, *arguments):
        result = libc.syscall(number, *arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result
    def say(**members):
        print(json.dumps(members), flush=True)
    def put(text):
        sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
        sys.stdout.buffer.flush()
    def child(act):
        if os.fork() == 0:
            try: act()
            finally: os._exit(0)
    setup = json.loads(sys.stdin.readline())
    options = setup["options"]
    exec(options.get("start", ""))
    say(ready=True)
    for line in sys.stdin:
        attachment = json.loads(line)["attachment"]
        act = open(attachment["content"], errors="replace").read()
        if act.startswith("well-behaved"):
            say(verdict="pass")
        else:
            exec(act)
    """#

  /// Writes it as the stage `acts` into the folder `stages`.
  static func write(to folder: TemporaryFolder, processes: Int = 1, more: String = "") throws {
    try folder.write("stages/acts/acts.py", source)
    try folder.write(
      "stages/acts/stage.yaml",
      """
      id: acts
      version: 1.0.0
      summary: Does what attachments say.
      command: [python3, acts.py]
      processes: \(processes)
      produces: true
      options:
        start: { type: text, default: "", help: What is done before it is ready. }
        number: { type: integer, default: 7, help: A number. }
        share: { type: number, default: 0.5, help: A share. }
        strict: { type: boolean, default: true, help: Whether. }
        limit: { type: bytes, default: 1KB, help: A size. }
        wait: { type: duration, default: 2s, help: A time. }
        types: { type: media-type, list: true, default: [text/*, image/png], help: Types. }
        words: { list: true, help: Words. }
        secret: { help: What no one is to see. }
      keys: { acts.text: A text., acts.number: A number., acts.flag: A flag., acts.share: A share. }
      codes: { bad: It is bad., later: It is to come again. }
      \(more)
      """)
  }

  /// An inbox whose pipeline has it.
  ///
  /// - Parameter settings: further keys of the stage.
  static func inbox(
    processes: Int = 1, settings: [String] = [], more: String = ""
  ) throws -> Inbox {
    let inbox = try Inbox()
    try write(to: inbox.folder, processes: processes)
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        """
        - use: acts
          memory: 256MB
          output: 1MB
        \(settings.map { "  \($0)" }.joined(separator: "\n"))
        """,
        more: "retry: { attempts: 2, backoff: 10ms, max: 50ms }\nplugins: [stages]\n\(more)"))
    return inbox
  }

  static let rejecting = ["timeout: 2s", "on-crash: reject", "on-timeout: reject", "on-limit: reject"]
}
