import Platform

/// Sluice and another program at the same work, in rounds.
///
/// Round 0 warms up programs, libraries and the magic database, and is dropped. The two take turns in going
/// first, so that drift of the machine favours neither.
struct Comparison {
  /// What is worked on, as the row says it.
  var name: String
  /// The other program.
  var peer: String
  var input: Input
  private(set) var ours: [Ending] = []
  private(set) var theirs: [Ending] = []

  init(_ name: String, _ peer: String, _ input: Input) {
    (self.name, self.peer, self.input) = (name, peer, input)
  }

  /// - Parameters:
  ///   - sluice: takes the input into a new home.
  ///   - other: takes it into a new folder. Both check that all of it was done.
  mutating func run(
    _ settings: Settings, _ ground: Ground, sluice: (_ home: String) throws -> Ending,
    other: (_ store: String) throws -> Ending
  ) throws {
    let started = Clock.monotonic()
    var round = 0
    while round == 0
      || settings.goesOn(round - 1, after: Double(Clock.monotonic() - started) / 1e9)
    {
      var own: Ending?
      var its: Ending?
      for isSluice in round % 2 == 0 ? [true, false] : [false, true] {
        try ground.settle(reading: input.folder)
        if isSluice {
          own = try sluice(ground.store("sluice"))
        } else {
          its = try other(ground.store("peer"))
        }
      }
      if round > 0, let own, let its {
        ours.append(own)
        theirs.append(its)
        progress(
          "\(name), round \(round): \(Table.number(own.seconds)) s, \(peer) \(Table.number(its.seconds)) s")
      }
      round += 1
    }
  }

  // MARK: Its rows

  /// The work done in a second, with the processor time for each attachment beside it.
  ///
  /// - Parameters:
  ///   - amount: of work, such as files.
  ///   - goal: of the ratio, at least.
  func rate(_ unit: String, _ amount: Int, goal: Double?, remark: String? = nil) -> TableRow {
    var row = TableRow(
      name, unit, ours.map { Double(amount) / $0.seconds }, peer, theirs.map { Double(amount) / $0.seconds },
      goal: goal.map { .atLeast($0) }, remark: remark)
    row.isBesideOthers = true
    row.processor = Paired(each(ours, \.treeSeconds), each(theirs, \.treeSeconds))
    return row
  }

  /// The processor time for each attachment, of all processes.
  func processor(goal: Double) -> TableRow { cost("CPU", \.treeSeconds, goal) }

  /// The coordinator's part of it, beside all that the other program takes.
  func coordinator(goal: Double?) -> TableRow { cost("coordinator", \.ownSeconds, goal) }

  private func cost(_ what: String, _ seconds: KeyPath<Ending, Double>, _ goal: Double?) -> TableRow {
    var row = TableRow(
      "\(name): \(what)", "us each", each(ours, seconds), peer, each(theirs, \.treeSeconds),
      goal: goal.map { .atMost($0) })
    row.isBesideOthers = true
    return row
  }

  /// Microseconds for each attachment.
  private func each(_ endings: [Ending], _ seconds: KeyPath<Ending, Double>) -> [Double] {
    endings.map { $0[keyPath: seconds] / Double(input.count) * 1e6 }
  }
}
