/// The goal of a row.
enum Goal {
  case atLeast(Double)
  case atMost(Double)
  case below(Double)
  case above(Double)

  func isReached(by value: Double) -> Bool {
    switch self {
    case .atLeast(let goal): value >= goal
    case .atMost(let goal): value <= goal
    case .below(let goal): value < goal
    case .above(let goal): value > goal
    }
  }

  var sign: String {
    switch self {
    case .atLeast: ">="
    case .atMost: "<="
    case .below: "<"
    case .above: ">"
    }
  }

  var value: Double {
    switch self {
    case .atLeast(let goal), .atMost(let goal), .below(let goal), .above(let goal): goal
    }
  }
}

/// One line of the table: a figure, what it is compared with, and its goal.
struct TableRow {
  var name: String
  var unit: String
  /// Sluice's figure, the median of its rounds.
  var figure: Double?
  var peer: (name: String, figure: Double)?
  /// Each round's value that the goal applies to: the ratio if there is a peer, else the figure.
  var judged = Series()
  var goal: Goal?
  /// Why there is no figure.
  var skipped: String?
  var failed: String?
  var remark: String?
  /// The peer is another program, and not Sluice in another situation.
  var isBesideOthers = false
  /// Where it was measured.
  var disk: Disk?
  /// Microseconds of processor time for each attachment, of all processes: Sluice's and the peer's.
  var processor: Paired?

  /// A figure that stands by itself.
  init(_ name: String, _ unit: String, _ values: [Double], goal: Goal?, remark: String? = nil) {
    self.name = name
    self.unit = unit
    judged = Series(values)
    figure = judged.median
    self.goal = goal
    self.remark = remark
  }

  /// A figure beside a peer's, measured in the same rounds; the goal applies to their ratio.
  init(
    _ name: String, _ unit: String, _ values: [Double], _ peer: String, _ peers: [Double], goal: Goal?,
    remark: String? = nil
  ) {
    self.name = name
    self.unit = unit
    figure = Series(values).median
    self.peer = (peer, Series(peers).median)
    judged = Paired(values, peers).ratios
    self.goal = goal
    self.remark = remark
  }

  init(_ name: String, skipped: String) {
    self.name = name
    unit = ""
    self.skipped = skipped
  }

  init(_ name: String, failed: String) {
    self.name = name
    unit = ""
    self.failed = failed
  }

  /// What is the same on every disk.
  var subject: String { "\(name) beside \(peer?.name ?? "")" }

  /// What stands below the row.
  var note: String? {
    skipped.map { "skipped: \($0)" } ?? failed.map { "failed: \($0)" } ?? remark
  }

  /// `nil`: there is no goal, or nothing was measured.
  var isReached: Bool? {
    if failed != nil { return false }
    return skipped == nil ? goal.map { $0.isReached(by: judged.median) } : nil
  }
}
