import Glibc
import Pipeline
import Testing
import Wire

@testable import Scheduler

/// What a worker says that it has written beside a content, from a stage that does not declare it.
struct UndeclaredPieceTests {
  private typealias Bench = WorkerPoolTests.Bench

  /// Appends a content and the list of it to the file of a flight's pieces. Returns where the list lies.
  private func write(_ kind: Piece.Kind, stage: Int, to flight: Flight) throws -> Range<Int64> {
    try flight.makePieces()
    let list = PieceList.bytes(of: [
      Piece(kind, name: "name", mediaType: "text/plain", range: 0..<7, stage: stage)
    ])
    let bytes = Array("content".utf8) + list
    try #require(Glibc.write(flight.piecesOutput, bytes, bytes.count) == bytes.count)
    return 7..<Int64(bytes.count)
  }

  private struct Case: CustomTestStringConvertible {
    var kind: Piece.Kind
    var derives, expands: Bool
    var stage = 0
    var isTaken: Bool

    var testDescription: String { "\(kind), derives \(derives), expands \(expands), stage \(stage)" }
  }

  private static let cases = [
    Case(kind: .derived, derives: true, expands: false, isTaken: true),
    Case(kind: .child, derives: false, expands: true, isTaken: true),
    Case(kind: .child, derives: true, expands: false, isTaken: false),
    Case(kind: .derived, derives: false, expands: true, isTaken: false),
    // The group has one stage.
    Case(kind: .child, derives: true, expands: true, stage: 1, isTaken: false),
  ]

  @Test func aPieceIsTakenOfAStageThatDeclaresItsKind() throws {
    for one in Self.cases {
      let bench = Bench(produces: false, derives: one.derives, expands: one.expands)
      let flight = Flight.attachment(serial: 1)
      var report = StageReport()
      report.pieceList = try write(one.kind, stage: one.stage, to: flight)
      let problem = flight.takePieces(of: &report, bench.group)
      if one.isTaken {
        #expect(problem == nil && report.pieces.count == 1, "\(one.testDescription)")
      } else {
        #expect(problem?.contains("does not declare it") == true, "\(one.testDescription)")
        #expect(report.pieces.isEmpty, "\(one.testDescription)")
      }
    }
  }

  @Test(arguments: [true, false]) func aWorkerWhoseStagesDeclareNothingEndsIfItLeavesSomething(derives: Bool)
    throws
  {
    let bench = Bench(produces: false, derives: derives)
    bench.pool.enqueue(Flight.attachment(serial: 1), bench.group, 0..<1)
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let (slot, worker) = try #require(bench.started.first)
    var result = WorkResult(serial: 1)
    result.report.results = [StageResult(index: 0, verdict: .pass)]
    result.report.pieceList = 0..<10
    _ = try bench.pool.take(.said(.result(result)), of: slot, isStopping: false)
    #expect(worker.isKilled == !derives)
  }
}
