import Foundation
import Platform
import Testing

/// Each verb that changes the queue is killed before its first write, sync, truncation or deletion, its second, and so on, until it
/// gets through; and the power is cut after each. The ledger is sound then and has all that the verb does or nothing of it, and
/// the same command once more brings the end that it has without a kill. `make soak` takes each step; `make test` takes every third
/// for a kill, and every sixth for a power cut.
struct KilledVerbTests {
  @Test(arguments: VerbCase.all)
  func aVerbThatIsKilledIsDoneOrNotAndMayBeRepeated(verb: VerbCase) throws {
    try VerbTrial(verb).kill(atEach: 3)
  }

  @Test(arguments: VerbCase.all)
  func aVerbWhosePowerIsCutIsDoneOrNotAndMayBeRepeated(verb: VerbCase) throws {
    try VerbTrial(verb).cutPower(atEach: 6, seed: 1)
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct KilledVerbSoakTests {
  @Test(arguments: VerbCase.all)
  func aVerbIsKilledAtEachStep(verb: VerbCase) throws { try VerbTrial(verb).kill(atEach: 1) }

  @Test(arguments: VerbCase.all, 2...4)
  func thePowerIsCutAfterEachStepOfAVerb(verb: VerbCase, seed: Int) throws {
    try VerbTrial(verb).cutPower(atEach: 1, seed: UInt64(seed))
  }
}

/// A verb, with what has to be done before it.
struct VerbCase: CustomTestStringConvertible, CustomStringConvertible, Sendable {
  var words: [String]
  var before: [[String]] = []
  /// It is a visible change each time.
  var isToldAgain: Bool { words == ["retry", "--now"] }

  init(_ words: String, before: String...) {
    self.words = words.split(separator: " ").map(String.init)
    self.before = before.map { $0.split(separator: " ").map(String.init) }
  }

  var description: String { words.joined(separator: " ") }
  var testDescription: String { description }

  /// Each is about several attachments, deliveries or lanes.
  static let all = [
    VerbCase("cancel --status queued"),
    VerbCase("delete --status completed"),
    VerbCase("delete --status queued"),
    VerbCase("retry --status rejected"),
    VerbCase("retry --status queued", before: "cancel --status queued"),
    VerbCase("retry --now"),
    VerbCase("prioritize --status queued --priority 7"),
    VerbCase("dead-letters drop --all"),
    VerbCase("dead-letters retry"),
    VerbCase("pause attachments channel:slow"),
    VerbCase("resume attachments channel:slow", before: "pause attachments channel:slow"),
    VerbCase("replay --diff --apply --config home/strict.yaml"),
    VerbCase("reset attachments"),
    VerbCase("reset channel:slow"),
  ]
}

/// One verb, on copies of the same home.
private final class VerbTrial {
  private let verb: VerbCase
  /// The home as the verb finds it.
  private let home: VerbHome
  private let before: HomeImage
  /// What it leaves where nothing disturbs it.
  private let after: HomeImage
  private var faults = 0
  /// The stories after which nothing was done, and after which all was.
  private var sawNothingDone: [String] = []
  private var sawAllDone: [String] = []

  init(_ verb: VerbCase) throws {
    self.verb = verb
    home = try VerbHome(preparedBy: verb.before)
    before = try HomeImage(home)
    let undisturbed = try VerbHome(like: home)
    let outcome = try undisturbed.run(verb.words)
    #expect(outcome.status == 0, "\(verb): \(outcome.err)")
    after = try HomeImage(undisturbed)
    try #require(before.rows != after.rows, "\(verb) changes something")
  }

  /// - Parameter step: of so many calls of a kind, one is its last; the first always is.
  func kill(atEach step: Int) throws {
    var kills = 0
    for call in ["write", "fdatasync", "fsync", "ftruncate", "unlink", "rename"] {
      var nth = 1
      while try kill(before: call, nth) {
        nth += step
        kills += 1
      }
    }
    // It joins the ledger, changes it and leaves it, and says so.
    #expect(kills > 10 / step, "\(verb) was killed at \(kills) calls only")
    #expect(!sawNothingDone.isEmpty && !sawAllDone.isEmpty, "kills before its effect, and after it")
    Soak.row("kill -9 of a verb before a call that changes files", tries: kills, failures: faults)
  }

  /// - Parameter step: 1: after each of its operations on files.
  func cutPower(atEach step: Int, seed: UInt64) throws {
    let operations = try recorded()
    #expect(operations.count > 5)
    var random = SplitMix(state: seed)
    var cuts = 0
    for moment in stride(from: 0, through: operations.count, by: step) {
      try cutPower(after: moment, of: operations, &random)
      cuts += 1
    }
    #expect(!sawNothingDone.isEmpty && !sawAllDone.isEmpty, "cuts before its effect, and after it")
    Soak.row("the power is cut in a verb", tries: cuts, failures: faults)
  }

  /// Kills the verb before one of its calls of a kind. False: it made fewer.
  private func kill(before call: String, _ nth: Int) throws -> Bool {
    let copy = try VerbHome(like: home)
    let faults = try FaultLibrary(copy.folder, home: copy.path)
    faults.set(FaultLibrary.Fault(match: "coordinator \(call)", nth: nth, action: .killBefore))
    let outcome = try copy.run(verb.words, environment: try faults.environment())
    #expect(outcome.wasKilled == faults.hasFired, "\(verb): \(outcome.err)")
    if faults.hasFired { try judge(copy, "\(verb) is killed before its \(call) \(nth)") }
    return faults.hasFired
  }

  /// All that the verb does to files.
  private func recorded() throws -> [Journal.Operation] {
    let copy = try VerbHome(like: home)
    let faults = try FaultLibrary(copy.folder, home: copy.path, journal: copy.folder.path + "/journal")
    faults.set(nil)
    try #require(try copy.run(verb.words, environment: try faults.environment()).status == 0)
    return try Journal(copy.folder.path + "/journal").operations
  }

  private func cutPower(after moment: Int, of operations: [Journal.Operation], _ random: inout SplitMix)
    throws
  {
    var disk = Disk(fileSyncsCarryNames: Bool.random(using: &random))
    try disk.add(allBelow: home.path)
    for operation in operations.prefix(moment) { disk.apply(operation) }
    let copy = try VerbHome()
    try disk.image(in: copy.path, &random)
    try judge(copy, "\(verb): the power is cut after \(moment) of \(operations.count) steps")
  }

  /// What a disturbed verb has left is judged, and what the same command makes of it.
  private func judge(_ copy: VerbHome, _ story: String) throws {
    func expect(_ isRight: Bool, _ fault: @autoclosure () -> String) {
      if !isRight { faults += 1 }
      #expect(isRight, "\(story): \(fault())")
    }
    let verified = try copy.run(["verify"])
    expect(verified.status == 0, "\(verified.out)\(verified.err)")
    let left = try HomeImage(copy)
    switch left.rows {
    case before.rows:
      sawNothingDone.append(story)
      expect(left.position == before.position, "a change is told that is not there")
      expect(left.names == before.names && left.objects == before.objects, "objects went before their rows")
    case after.rows:
      sawAllDone.append(story)
      expect(left.position == after.position, "a change is not told")
      // Objects are deleted after their rows; until then their paths are known as unused.
      let unused = Set(left.names.filter { $0.value == 0 }.keys)
      expect(left.objects.isSubset(of: before.objects), "there are other objects than before")
      expect(after.objects.isSubset(of: left.objects), "objects are gone that others have, too")
      expect(
        left.objects.subtracting(after.objects).isSubset(of: unused), "objects are left that nothing deletes")
    default:
      expect(false, "half of it is done: \(left.difference(from: before))")
    }
    let again = try copy.run(verb.words)
    expect(again.status == 0, "again: \(again.status) \(again.err)")
    var end = try HomeImage(copy)
    // To make a lane due that is due already is told all the same.
    if verb.isToldAgain && end.position == after.position + 1 { end.position -= 1 }
    expect(end == after, "again gives another end: \(end.difference(from: after))")
  }
}
