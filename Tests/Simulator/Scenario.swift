import Pipeline
import Platform
import Scheduler

/// What a simulation is about: files, a pipeline, coordinators one after the other and how each ends, and the weather. All of it
/// follows from a seed. To shrink a failure, parts are left out.
struct Scenario {
  struct Item {
    var number: Int
    /// Equal numbers are equal contents.
    var content: Int
    var fileName: String
    var conversation: String
    var participants: [String]
    var priority: Int64
  }

  /// How a coordinator ends.
  enum End: Equatable {
    /// At the effect of this number: it is killed, or the machine loses power.
    case killed(atEffect: Int), powerLost(atEffect: Int)
    /// A signal asks for the end after so many milliseconds.
    case signal(afterMilliseconds: Int)
    /// All that can be done is done.
    case done
  }

  struct Life {
    var number: Int
    var end: End
    /// It waits for more, until a signal comes.
    var isResident: Bool
  }

  /// What a person does to an attachment or a delivery, so many milliseconds since the beginning.
  struct Deed {
    enum Kind: CaseIterable {
      case cancel, delete, retry, prioritize, drop, redeliver
      /// Drawn in the place of some that prioritize, so that older seeds stay what they were but for these.
      case reprocess

      static let common = allCases.filter { $0 != .reprocess }
    }

    var number: Int
    var kind: Kind
    var time: Int
    /// The item's, or a place among the deliveries.
    var target: Int
  }

  /// Something that is wrong with the place for a while, in milliseconds since the beginning.
  struct Spell {
    enum Kind: CaseIterable {
      case folderAway, storeAway, diskFull, endpointDead, clockSet, suspended
      /// Neither sources nor the store answer.
      case filesHang
      /// The ledger fails now and then, or its answers are lost.
      case ledgerAway

      /// Those that any scenario may have. The last has a draw of its own, so that older seeds stay what they were.
      static let common = allCases.filter { $0 != .ledgerAway }
    }
    var number: Int
    var kind: Kind
    var begin: Int
    var end: Int
  }

  let seed: UInt64
  let chance: Chance
  var items: [Item]
  var lives: [Life]
  var weather: [Spell]
  var deeds: [Deed]
  /// The ledger is the model, and not SQLite's.
  let isOnModel: Bool
  let pipeline: PipelineDefinition
  let tuning: Tuning

  /// Templates of paths in the store.
  enum Template: CaseIterable { case content, attachment, name }
  let template: Template

  /// Stages may leave derived objects, and take contents out of contents.
  let hasTrees: Bool

  /// - Parameter mayHaveTrees: false: as a scenario was before there were any.
  init(seed: UInt64, items count: Int = 60, mayHaveTrees: Bool = true) {
    self.seed = seed
    let chance = Chance(seed: seed)
    self.chance = chance
    items = (0..<count).map { number in
      let name = "item \(number)"
      return Item(
        number: number, content: chance.integer(0...(count * 3 / 4), name, "content"),
        fileName: "file-\(chance.integer(0...(count * 2), name, "name"))#\(number)",
        conversation: "conversation-\(chance.integer(0...3, name, "conversation"))",
        participants: (0..<chance.integer(0...3, name, "participants")).map { "person-\($0)" },
        priority: Int64(chance.integer(0...2, name, "priority")))
    }
    lives = (0..<chance.integer(7...10, "lives")).map { number in
      let life = "life \(number)"
      let isResident = chance.oneIn(3, life, "resident")
      // Most while much is under way, some at the very beginning.
      let effect = chance.integer(1...chance.choice([20, 60, 150, 300], life, "size"), life, "effect")
      let end: End =
        switch chance.integer(0...11, life, "end") {
        case 0: .signal(afterMilliseconds: chance.integer(1...4000, life, "signal"))
        case 1 where !isResident: .done
        case 2...6: .powerLost(atEffect: effect)
        default: .killed(atEffect: effect)
        }
      return Life(number: number, end: end, isResident: isResident)
    }
    weather = (0..<chance.integer(0...4, "weather")).map { number in
      let spell = "spell \(number)"
      let begin = chance.integer(0...20_000, spell, "begin")
      return Spell(
        number: number, kind: chance.choice(Spell.Kind.common, spell, "kind"), begin: begin,
        end: begin + chance.integer(50...8000, spell, "length"))
    }
    isOnModel = chance.oneIn(4, "model")
    if chance.oneIn(3, "ledger away") {
      let begin = chance.integer(0...10_000, "ledger away", "begin")
      weather.append(
        Spell(
          number: 100, kind: .ledgerAway, begin: begin,
          end: begin + chance.integer(50...8000, "ledger away", "length")))
    }
    deeds = Self.deeds(chance, count)
    var pipeline = Self.pipeline(chance)
    pipeline.downloads = Self.downloads(chance)
    hasTrees = mayHaveTrees && chance.oneIn(2, "trees")
    if hasTrees { Self.addTrees(&pipeline, chance) }
    self.pipeline = pipeline
    template = chance.choice(Template.allCases, "template")
    var tuning = Tuning()
    tuning.window = chance.choice([1, 2, 5, 20, 256], "window")
    tuning.recycleAfter = chance.choice([3, 10, 10_000], "recycle")
    tuning.worthwhile = chance.choice([1, 8, 64], "worthwhile")
    self.tuning = tuning
  }

  /// In two of three scenarios there are some; often several of one item, one shortly after the other.
  private static func deeds(_ chance: Chance, _ items: Int) -> [Deed] {
    if items == 0 || chance.oneIn(3, "no deeds") { return [] }
    let span = chance.choice([500, 3000, 20_000], "deeds", "span")
    let few = chance.integer(1...items, "deeds", "items")
    return (0..<chance.integer(1...items, "deeds")).map { number in
      let deed = "deed \(number)"
      // Most while an item is on its way.
      let kinds: [Deed.Kind] = [.cancel, .cancel, .delete, .delete] + Deed.Kind.common
      var kind = chance.choice(kinds, deed, "kind")
      if kind == .prioritize && chance.oneIn(2, deed, "reprocess") { kind = .reprocess }
      return Deed(
        number: number, kind: kind,
        time: chance.integer(0...span, deed, "time"),
        target: chance.integer(0...(few - 1), deed, "target"))
    }.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
  }

  // MARK: The pipeline

  private static func pipeline(_ chance: Chance) -> PipelineDefinition {
    var stages: [StageDefinition] = []
    let remedies: [Remedy] = [.retry, .retry, .reject, .hold, .pass]
    func add(_ id: String, _ change: (inout StageDefinition) -> Void) {
      var description = StageDescription(id: id, version: "1", summary: "", file: "")
      description.keys = [.init(name: "\(id).*", help: "")]
      var stage = StageDefinition(id: id, description: description, values: [])
      stage.timeout = Int64(chance.integer(1...5, id, "timeout") * 1000)
      stage.output = 4096
      stage.onCrash = chance.choice(remedies, id, "crash")
      stage.onTimeout = chance.choice(remedies, id, "timeout remedy")
      stage.onLimit = chance.choice(remedies, id, "limit")
      change(&stage)
      stages.append(stage)
    }
    for number in 0..<chance.integer(1...4, "line stages") {
      add("line-\(number)") { stage in
        if chance.oneIn(8, stage.id, "fresh") { stage.isolation = .fresh }
        if chance.oneIn(6, stage.id, "produces") { stage.description.produces = true }
        if number > 0 && chance.oneIn(4, stage.id, "when") {
          stage.conditions = [MediaTypePattern("image/*")].compactMap(\.self)
        }
        if number > 0 && chance.oneIn(8, stage.id, "network") { stage.description.capability = .network }
        if number > 0 && chance.oneIn(4, stage.id, "many at once") {
          (stage.description.capability, stage.description.turns) = (.network, true)
        }
      }
    }
    if !chance.oneIn(4, "store") {
      add("store") { stage in
        stage.description.capability = .store
        stage.description.flushes = true
        (stage.onCrash, stage.onTimeout, stage.onLimit) = (.retry, .retry, .retry)
      }
    }
    let names = (0..<chance.integer(0...2, "channels")).map { "channel-\($0)" }
    for number in 0..<chance.integer(0...2, "end stages") {
      add("end-\(number)") { stage in
        stage.description.role = .end
        (stage.onCrash, stage.onTimeout, stage.onLimit) = (.retry, .retry, .retry)
        guard let channel = names.isEmpty ? nil : chance.choice(names, stage.id, "channel") else { return }
        stage.description.options = [
          OptionDescription(name: "channel", kind: .channelName, shapes: .one, help: "")
        ]
        stage.values = [OptionValue(name: "channel", text: channel)]
      }
    }
    let channels = names.map { name in
      var description = StageDescription(id: name, version: "1", summary: "", file: "")
      description.role = .channel
      description.flushes = chance.oneIn(2, name, "flushes")
      description.capability = description.flushes ? .content : .network
      description.turns = !description.flushes && chance.oneIn(2, name, "turns")
      var stage = StageDefinition(id: name, description: description, values: [])
      stage.timeout = 3000
      return ChannelDefinition(
        name: name, stage: stage, schedule: DeliverySchedule(attempts: 6, backoff: 500, max: 60_000))
    }
    var retry = RetryPolicy()
    retry.attempts = chance.integer(3...5, "attempts")
    retry.backoff = Int64(chance.integer(100...1500, "backoff"))
    retry.max = 20_000
    return PipelineDefinition(
      stages: stages, channels: channels, retry: retry, workers: chance.integer(1...4, "workers"),
      reuse: chance.oneIn(3, "reuse") ? .off : .verdicts,
      memoryTotal: chance.choice([4096, 20_000, 1 << 30], "memory"))
  }
}
