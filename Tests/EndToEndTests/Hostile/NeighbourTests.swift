import Foundation
import SQLite
import Testing

/// The effect of hostile attachments on the well-behaved ones beside them.
@Suite(.serialized)
struct NeighbourTests {
  @Test(arguments: Neighbourhood.Kind.allCases)
  fileprivate func allBesideHostileAttachmentsAreCompleted(kind: Neighbourhood.Kind) throws {
    _ = try Neighbourhood(kind: kind, most: 1).run(isHostile: true, round: 0)
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct NeighbourSoakTests {
  @Test func theMedianTimeBesideHostileAttachmentsAtMostDoublesInFifteenRounds() throws {
    try Neighbourhood(kind: .content, most: 2).compare(rounds: 15)
  }

  /// No known content ends a worker this often. Each time, another worker is started and loads all its
  /// stages, which costs every attachment time; those that wait in the queue pay only once.
  @Test func attachmentsThatTakeDownTheirWorkersTakeTheirTurnLast() throws {
    try Neighbourhood(kind: .killers, most: 10).compare(rounds: 5)
  }
}

/// Two ingests of the same number of attachments: all of them well-behaved, or every second one hostile. The
/// two alternate, so that other load on the machine affects both; the median of each turn's medians counts.
private struct Neighbourhood {
  /// Medians of the attachments that are in both ingests, in milliseconds.
  struct Times {
    /// The time in the stages, by the ledger.
    var stages: Double
    /// From the first intake until the end is recorded, including the wait for a worker.
    var whole: Double
  }

  enum Kind: String, CaseIterable {
    /// Damaged, lying and nested content, and one that uses up its time limit.
    case content
    /// The same, and every fifth kills its worker.
    case killers
  }

  private static let count = 200

  var kind: Kind
  /// The allowed factor.
  var most: Double

  func compare(rounds: Int) throws {
    var alone: [Times] = []
    var beside: [Times] = []
    for round in 0..<rounds {
      // The second of a pair may profit from the first.
      for isHostile in round % 2 == 0 ? [false, true] : [true, false] {
        let times = try run(isHostile: isHostile, round: round)
        if isHostile { beside.append(times) } else { alone.append(times) }
      }
    }
    for (name, part) in [("in stages", \Times.stages), ("until the end", \Times.whole)] {
      let before = Self.median(alone.map { $0[keyPath: part] })
      let after = Self.median(beside.map { $0[keyPath: part] })
      let ratio = after / before
      #expect(ratio <= most, "\(name): \(before) ms alone, \(after) ms beside hostile ones")
      Soak.row("a batch beside hostile attachments", tries: alone.count, failures: ratio <= most ? 0 : 1)
      let figures = String(format: "%.2f ms alone, %.2f ms beside, x %.2f", before, after, ratio)
      print("neighbours of hostile \(kind), \(name): \(figures) (\(alone.count) rounds of \(Self.count))")
    }
  }

  func run(isHostile: Bool, round: Int) throws -> Times {
    let inbox = try Inbox()
    try inbox.folder.write("pipeline.yaml", Self.pipeline)
    let report = try Samples.data("report.pdf")
    let photo = try Samples.data("photo.jpg")
    let bases = try Mutating.Format.pdf.bases().filter { !$0.name.contains("/") }
    for number in 0..<Self.count {
      try inbox.folder.write("in/\(number)-good", Self.good(number, report, photo))
      let other =
        isHostile
        ? try hostile(number, bases, round) : Self.good(number + Self.count, report, photo)
      try inbox.folder.write("in/\(number)-other", other)
    }
    let run = try inbox.start().end(within: 120)
    #expect(run.outcome.status == (isHostile ? 1 : 0), "\(run.outcome.err)")
    let good = run.outcome.attachments.filter { $0.fileName.hasSuffix("-good") }
    #expect(good.count == Self.count && good.allSatisfy { $0.isCompleted }, "\(run.outcome.err)")
    try inbox.checkWhole(run)
    return try times(inbox)
  }

  /// PDFs, photos and texts, no two the same.
  private static func good(_ number: Int, _ report: Data, _ photo: Data) -> Data {
    let mark = Array("number \(number)".utf8)
    switch number % 3 {
    case 0: return report + Data("\n% ".utf8) + Data(mark)
    case 1: return photo.prefix(2) + Data([0xFF, 0xFE, 0, UInt8(mark.count + 2)] + mark) + photo.dropFirst(2)
    default: return Data("well-behaved ".utf8) + Data(mark)
    }
  }

  private func hostile(_ number: Int, _ bases: [(name: String, data: Data)], _ round: Int) throws -> Data {
    let acts = ["segfault", "allocate", "flood", "garbage", "fork", "exit", "write"]
    if number == Self.count / 4 { return try Bomb.slow[0].make() }
    switch number % 5 {
    case 0 where kind == .killers:
      return Data("misbehave \(acts[number / 5 % acts.count])\n\(number)".utf8)
    case 0, 1:
      let bombs = try Self.bombs.get()
      return bombs[number % bombs.count]
    case 2:
      let broken = try Self.broken.get()
      if !broken.isEmpty { return broken[(number + round * Self.count) / 5 % broken.count] }
    default: break
    }
    return Mutation(bases, seed: UInt64(round), number: number).data
  }

  /// Bombs that end soon: two slow ones would occupy both workers until their time limit.
  private static let bombs = Result {
    try (Bomb.circular + Bomb.images + Bomb.counting.prefix(1)).filter { !$0.codes.contains("timed-out") }
      .map { try $0.make() }
  }

  private static let broken = Result<[Data], any Error> {
    if !Corpus.isThere { return [] }
    return try Corpus.entries().filter { $0.path.hasPrefix("pdf-broken/") && !$0.path.contains("made-slow") }
      .map { try Data(contentsOf: URL(fileURLWithPath: $0.file)) }
  }

  private func times(_ inbox: Inbox) throws -> Times {
    let connection = try Connection(inbox.folder.path + "/home/sluice.db", .readOnly)
    func median(_ sql: String) throws -> Double {
      var values: [Double] = []
      try connection.prepare(sql).rows { values.append(Double($0.integer(0)) / 1000) }
      return Self.median(values)
    }
    return Times(
      stages: try median(
        """
        SELECT sum(microseconds) FROM steps JOIN attachments ON key = attachment_key
        WHERE file_name LIKE '%-good' GROUP BY key
        """),
      whole: try median(
        """
        SELECT 1000 * (finished_at - (SELECT min(created_at) FROM attachments)) FROM attachments
        WHERE file_name LIKE '%-good'
        """))
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : (sorted[sorted.count / 2] + sorted[(sorted.count - 1) / 2]) / 2
  }

  private static let pipeline = Pipelines.telling(
    """
    - use: size
      options: { max: 10MB }
    - use: pdf
      when: application/pdf
      timeout: 1s
      memory: 256MB
    - use: text
      when: application/pdf
      timeout: 1s
      memory: 256MB
    - use: image
      when: image/*
      timeout: 1s
    - use: misbehave
      when: text/*
      timeout: 1s
      memory: 64MB
      output: 16MB
    """, more: "retry: { attempts: 2, backoff: 500ms, max: 1s }")
}
