import Control
import Glibc
import HomeFolder
import LedgerPort
import Platform
import SQLite

/// How long one user's small files take while another's slow ones are at work: for each limit of workers there are three pages of six
/// million operators, which a stage is at until its time is over.
enum FairnessRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("fairness: small files beside slow ones") {
      let small = try Input.pdfs(
        settings.size(101, quick: 21), sizes: 0...64 << 10, on: ground, under: "fair")
      let slow = ground.store("slow")
      let made = try Child(["/usr/bin/env", "python3", "-c", bombs, slow], out: Ground.output("bombs"))
      try made.end(as: 0)
      let pipeline = try Sluice.pipeline(
        "fairness", stages: Array(Sluice.standard[..<3]) + slowStages + Array(Sluice.standard[3...]))
      let home = ground.store("fair")
      let scheduler = try Child(
        [Sluice.program, "run", "--home", home, "--config", pipeline], out: Ground.output("fair"))
      while try Files.bytes(scheduler.errors).isEmpty {
        if scheduler.hasEnded(within: 0.01) || scheduler.age > 60 {
          throw BenchError("sluice run does not begin: \(Files.tail(scheduler.errors))")
        }
      }
      let client = try ControlClient(Home(home))
      let bombs = try BenchLedger.Sources(files: slow)
      let items = (0..<6).map { index in
        var item = bombs.item(index)
        (item.senderId, item.messageId) = ("eve", "slow\(index)")
        return item
      }
      guard try client.enqueue(items).added == 6 else { throw BenchError("the slow files were not taken") }
      usleep(2_000_000)
      let sources = try BenchLedger.Sources(files: small.folder)
      let open = try Sluice.ledger(home).prepare(
        "SELECT count(*) FROM attachments JOIN messages USING (conversation_id, message_id) WHERE sender_id <> 'eve' "
          + "AND status = 'queued'")
      var times: [Double] = []
      for index in 0..<small.count {
        let started = Clock.monotonic()
        guard try client.enqueue([sources.item(index)]).added == 1 else {
          throw BenchError("a file was not taken")
        }
        while try open.first(make: { $0.integer(0) }) != 0 {
          if QueueRows.seconds(since: started) > 120 || scheduler.hasEnded(within: 0) {
            throw BenchError("file \(index) was not completed: \(Files.tail(scheduler.errors))")
          }
          usleep(1000)
        }
        times.append(QueueRows.seconds(since: started) * 1e3)
      }
      let left = try Sluice.ledger(home).prepare("SELECT count(*) FROM attachments WHERE status = 'queued'")
        .first { $0.integer(0) }
      scheduler.signal(SIGKILL)
      let series = Series(times)
      return [
        TableRow(
          "fairness: a small file beside slow ones", "ms", times, goal: nil,
          remark: "\(left ?? 0) slow ones at the end"),
        TableRow("fairness: the same, p99", "ms", [series.quantile(0.99)], goal: .below(3000)),
      ]
    }
  }

  private static let slowStages = [
    "use: text, when: application/pdf, timeout: 60s, on-timeout: reject",
    "use: preview, when: application/pdf, timeout: 60s, on-timeout: reject",
  ]

  /// Writes six PDFs of one page each into a folder.
  private static let bombs = """
    import sys, zlib, os
    os.makedirs(sys.argv[1], exist_ok=True)
    for n in range(6):
        page = zlib.compress(b"%d w " % n + b"0 0 m 9 9 l S\\n" * 6300000, 9)
        parts = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                 b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
                 b"<< /Length %d /Filter /FlateDecode >> stream\\n" % len(page) + page + b"\\nendstream"]
        out, places = b"%PDF-1.4\\n", []
        for i, part in enumerate(parts):
            places.append(len(out))
            out += b"%d 0 obj\\n" % (i + 1) + part + b"\\nendobj\\n"
        start = len(out)
        out += b"xref\\n0 5\\n0000000000 65535 f \\n" + b"".join(b"%010d 00000 n \\n" % p for p in places)
        out += b"trailer << /Size 5 /Root 1 0 R >>\\nstartxref\\n%d\\n%%%%EOF\\n" % start
        open("%s/bomb%d.pdf" % (sys.argv[1], n), "wb").write(out)
    """
}
