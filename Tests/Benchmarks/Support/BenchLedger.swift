import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform

/// A home whose ledger is filled and used in this process, with the same calls as the scheduler's.
final class BenchLedger {
  private let lock: HomeLock
  private let ledger: any LedgerWriter
  private var number: Int64 = 0

  private init(_ path: String, seals: Bool) throws {
    let home = Home(path)
    try home.create()
    lock = try home.lock()
    ledger = seals ? try home.join { try BenchKey(home, $0) } : try home.join()
  }

  /// Uses a home, and releases it for another process afterwards.
  ///
  /// - Parameter seals: it takes links.
  static func at<Result>(
    _ path: String, seals: Bool = false, _ body: (BenchLedger) throws -> Result
  ) throws -> Result {
    let ledger = try BenchLedger(path, seals: seals)
    defer { withExtendedLifetime(ledger) {} }
    return try body(ledger)
  }

  /// Queues attachments, in batches of an ingest's size.
  ///
  /// - Parameter sources: real files; each is taken in under as many conversations as needed to reach
  ///   `count`.
  func takeIn(_ count: Int, sources: Sources) throws { try takeIn(count, sources.item) }

  /// Queues links, each its own.
  ///
  /// - Parameter host: the number of the host that the link with this index leads to.
  /// - Parameters:
  ///   - size: messages of a conversation.
  ///   - name: what the conversations have in common.
  func takeIn(
    links count: Int, conversations size: Int = 1000, named name: String = "c",
    _ host: (_ index: Int, _ count: Int) -> Int
  ) throws {
    try takeIn(count) { index in
      var item = IntakeItem(
        conversationId: "\(name)\(index / size)", messageId: "m\(index)", senderId: "a",
        participants: ["a", "b"],
        fileName: "file", origin: "bench")
      item.url = "https://host-\(host(index, count)).example.com/\(name)/\(index)?token=\(index &* 7919)"
      return item
    }
  }

  private func takeIn(_ count: Int, _ item: (Int) -> IntakeItem) throws {
    var done = 0
    while done < count {
      let items = (done..<min(done + 500, count)).map(item)
      let reply = try exchange { $0.commands = [.takeIn(items)] }
      guard case .takenIn(let report) = reply.results.first, report.added == items.count else {
        throw BenchError("the ledger did not take in \(items.count) files")
      }
      done += items.count
    }
  }

  /// Writes conversations and messages, each transaction with 500 commands.
  func apply(_ commands: [ConversationCommand]) throws {
    for start in stride(from: 0, to: commands.count, by: 500) {
      let part = commands[start..<min(start + 500, commands.count)]
      let reply = try exchange { $0.commands = part.map { .conversation($0) } }
      for result in reply.results {
        if case .conversation(.refused(let refusal)) = result {
          throw BenchError("it is refused: \(refusal)")
        }
      }
    }
  }

  /// Settles some leases and claims others in one transaction.
  func exchange(_ settlements: [Settlement], claiming count: Int) throws -> [Lease] {
    try exchange(settlements, wanting: count > 0 ? Want(.attachments, count) : nil)
  }

  /// The same, with leases of any lane.
  func exchange(_ settlements: [Settlement], wanting want: Want?) throws -> [Lease] {
    let reply = try exchange {
      $0.settlements = settlements
      $0.wanted = want.map { [$0] } ?? []
    }
    guard reply.settled.allSatisfy({ $0 == .counted }) else {
      throw BenchError("the ledger refused a settlement")
    }
    return reply.leases
  }

  private func exchange(_ fill: (inout Exchange) -> Void) throws -> ExchangeReply {
    var exchange = Exchange(number: number + 1)
    fill(&exchange)
    let reply = try ledger.exchange(exchange)
    if exchange.takesNumber { number += 1 }
    ledger.rest(isIdle: false)
    return reply
  }

  /// The ending of an attachment whose stages do nothing.
  static func completed(_ lease: Lease, events: [OutgoingEvent] = []) -> Settlement {
    guard case .attachment(let attachment) = lease.work else { return Settlement(lease, .released) }
    let size = if case .file(_, _, let size, _, _) = attachment.source { size } else { Int64(0) }
    return Settlement(
      lease,
      .attachment(
        EndedAttachment(
          attachment,
          AttachmentOutcome(
            .completed, mediaType: "text/plain", sizeBytes: size,
            sha256: [UInt8](repeating: 7, count: 32)),
          attempt: lease.attempt,
          steps: [.init(stage: "size", verdict: "pass", code: nil, message: nil, microseconds: 10)],
          events: events)))
  }

  /// Existing files that attachments come from.
  struct Sources: Sendable {
    private let files: [(path: [UInt8], name: String, size: Int64, modified: Int64)]
    /// The path of the folders `0`, `1` and so on with links to the files, if there are any.
    private let links: [UInt8]?

    /// - Parameters:
    ///   - folder: all files in it.
    ///   - paths: each file gets as many names as needed for this number of paths, in the order in which a
    ///     walk finds them.
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

    /// The path of the first file.
    var first: String { String(decoding: files[0].path, as: UTF8.self) }

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
