import Glibc
import Ledger
import Pipeline
import Platform

/// A home whose ledger is filled and worked on in this process, by the calls the scheduler makes.
final class BenchLedger {
  private let lock: HomeLock
  private let ledger: Ledger

  private init(_ path: String) throws {
    let home = Home(path)
    try home.create()
    lock = try home.lock()
    ledger = try Ledger(home)
  }

  /// Works on a home, and lets another process have it after that.
  static func at<Result>(_ path: String, _ body: (BenchLedger) throws -> Result) throws -> Result {
    let ledger = try BenchLedger(path)
    defer { withExtendedLifetime(ledger) {} }
    return try body(ledger)
  }

  /// Queues attachments, in batches as large as an ingest's.
  ///
  /// - Parameter sources: real files, each of which is taken in under so many conversations that the number is reached.
  func takeIn(_ count: Int, sources: Sources) throws {
    var done = 0
    while done < count {
      var request = ExchangeRequest()
      request.intake = (done..<min(done + 500, count)).map(sources.item)
      let added = try ledger.exchange(request).intake.added
      ledger.checkpoint()
      if added != request.intake.count {
        throw BenchError("the ledger took in \(added) of \(request.intake.count)")
      }
      done += added
    }
  }

  /// Settles some leases and claims others: one transaction.
  func exchange(_ settlements: [Settlement], claiming count: Int) throws -> [Lease] {
    var request = ExchangeRequest()
    request.settlements = settlements
    if count > 0 { request.wanted = [(Ledger.attachmentLane, count)] }
    let reply = try ledger.exchange(request)
    ledger.checkpoint()
    guard reply.accepted.allSatisfy({ $0 }) else { throw BenchError("the ledger refused a settlement") }
    return reply.leases
  }

  /// How stages that do nothing end an attachment.
  static func completed(_ lease: Lease, events: [OutgoingEvent] = []) -> Settlement {
    guard case .attachment(let attachment) = lease.work else { return Settlement(lease, .released) }
    return Settlement(
      lease,
      .attachment(
        EndedAttachment(
          attachment,
          AttachmentOutcome(
            .completed, mediaType: "text/plain", sizeBytes: attachment.sourceSize,
            sha256: [UInt8](repeating: 7, count: 32)),
          attempt: lease.attempt,
          steps: [.init(stage: "size", verdict: "pass", code: nil, message: nil, microseconds: 10)],
          events: events)))
  }

  /// Files that attachments are said to come from, and do.
  struct Sources: Sendable {
    private let files: [(path: [UInt8], name: String, size: Int64, modified: Int64)]
    /// Where there are folders with links to the files, in which `0`, `1` and so on are.
    private let links: [UInt8]?

    /// - Parameters:
    ///   - folder: all files in it.
    ///   - paths: each file gets as many names as it takes to have so many paths, in the order in which a walk finds them.
    init(files folder: String, paths: Int = 0) throws {
      links = paths > 0 ? Array("\(folder)-links/".utf8) : nil
      files = try Files.list(folder).map { path in
        var facts = stat()
        if stat(path, &facts) != 0 { throw SystemError("looking at \(path)") }
        return (
          Array(path.utf8), path.split(separator: "/").last.map(String.init) ?? "", Int64(facts.st_size),
          Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
        )
      }
      for copy in 0..<(paths + files.count - 1) / files.count {
        try Files.makeFolder("\(folder)-links/\(Input.padded(copy))")
        for file in files {
          if link(
            String(decoding: file.path, as: UTF8.self), "\(folder)-links/\(Input.padded(copy))/\(file.name)")
            != 0
          {
            throw SystemError("linking \(file.name)")
          }
        }
      }
    }

    func item(_ index: Int) -> IntakeItem {
      let file = files[index % files.count]
      let path =
        links.map { $0 + Array("\(Input.padded(index / files.count))/\(file.name)".utf8) } ?? file.path
      return IntakeItem(
        conversationId: "c\(index / files.count)", messageId: nil, senderId: "a", participants: ["a", "b"],
        fileName: file.name, source: path, sourceSize: file.size, sourceModified: file.modified,
        origin: "bench")
    }
  }
}
