import Pipeline

/// A stage or channel as written in the file, before its plugin is known.
struct StageEntry: Sendable {
  enum Place: Sendable {
    case stage, channel, lane

    fileprivate var noun: String {
      switch self {
      case .stage: "stage"
      case .channel: "channel"
      case .lane: "lane"
      }
    }

    fileprivate var keys: [String] {
      switch self {
      case .stage: Grammar.stage
      case .channel: Grammar.channel
      case .lane: Grammar.lane
      }
    }
  }

  let place: Place
  /// Where it begins.
  let mark: Mark
  /// The name in `use`; `nil` if it is missing or wrong, which has been reported.
  private(set) var use: Given?
  /// A stage's `id`, by default its `use`; a channel's name.
  private(set) var id: Given?
  private(set) var conditions: [MediaTypePattern] = []
  /// The settings that every stage has, such as `timeout`.
  private(set) var settings: [String: Given] = [:]
  private(set) var options: [Node.Entry] = []
  /// The settings of a lane, such as `connections`.
  private(set) var laneSettings: [String: Given] = [:]
  /// Of how many messages a lane fetches links by itself.
  private(set) var prefetch: Int?
  /// A channel's or a lane's retry section.
  private(set) var retry: RetrySection?
  /// Reported once the options of the plugin are known.
  private(set) var unknown: [Node.Key] = []

  /// Reads a stage.
  init?(_ node: Node, _ findings: inout Findings) {
    guard let section = Self.section(node, "a stage", Grammar.stage, &findings) else { return nil }
    self.init(section, .stage, settings: Grammar.stageSettings, &findings)
    conditions = (section.read(Grammar.when, &findings) ?? []).compactMap { MediaTypePattern($0.value.text) }
    if let given = section.readOne(Grammar.id, &findings) {
      if Grammar.isName(given.value.text) {
        id = given
      } else {
        findings.report(given.mark, Self.badName(given.value.text))
      }
    } else if section[Grammar.id.name] == nil {
      id = use
    }
  }

  /// Reads a channel.
  init?(_ node: Node, name: Node.Key, _ findings: inout Findings) {
    guard let section = Self.section(node, "a channel", Grammar.channel, &findings) else { return nil }
    self.init(section, .channel, settings: Grammar.channelSettings, &findings)
    id = Given(value: OptionValue(name: name.text, text: name.text), mark: name.mark)
    if !Grammar.isName(name.text) { findings.report(name.mark, Self.badName(name.text)) }
    if let node = section["retry"] { retry = RetrySection(node, standard: nil, &findings) }
  }

  /// Reads the lane of downloads.
  init?(lane node: Node, name: Node.Key, _ findings: inout Findings) {
    guard let section = Self.section(node, "a lane", Grammar.lane, &findings) else { return nil }
    self.init(section, .lane, settings: Grammar.channelSettings, &findings)
    id = Given(value: OptionValue(name: name.text, text: name.text), mark: name.mark)
    laneSettings = section.read(Grammar.laneSettings, &findings)
    if let node = section[Grammar.prefetch] { prefetch = LanesSection.prefetch(node, &findings) }
    if let node = section["retry"] { retry = RetrySection(node, standard: nil, &findings) }
  }

  private init(
    _ section: Section, _ place: Place, settings: [Setting<StageDefinition>], _ findings: inout Findings
  ) {
    self.place = place
    mark = section.mark
    unknown = section.unknown
    self.settings = section.read(settings, &findings)
    if let node = section["options"] { options = Self.options(node, &findings) }
    if let given = section.readOne(Grammar.use, &findings) {
      if Grammar.isName(given.value.text) {
        use = given
      } else {
        findings.report(given.mark, Self.badName(given.value.text))
      }
    } else if section[Grammar.use.name] == nil, !section.misspells(Grammar.use.name) {
      let noun = place.noun
      findings.report(mark, "the \(noun) does not say which plugin it uses", "add 'use: NAME'")
    }
  }

  /// Reports the unknown keys. Many unknown keys would be right in another place.
  ///
  /// - Parameter description: the plugin's description, if it is known.
  func reportUnknownKeys(_ description: StageDescription?, _ findings: inout Findings) {
    let keys = place.keys
    for key in unknown {
      let remedy: String
      if let description, description.options.contains(where: { $0.name == key.text }) {
        remedy = "it is an option of '\(description.id)': write it under 'options'"
      } else if Grammar.stage.contains(key.text) {
        remedy = "a \(place.noun) takes \(keys.joined(separator: ", ")) only"
      } else {
        remedy = Suggestion.remedy(for: key.text, among: keys, called: "keys here")
      }
      findings.report(key.mark, "unknown key \(quoted(key.text))", remedy)
    }
  }

  /// Where the user has to look for what the plugin says of its options when it is opened: at the option that the message names,
  /// or else at `use`.
  func place(of message: String) -> Mark {
    let words = message.split { !($0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-") }
    let named = options.first { option in words.contains { $0 == option.key.text } }
    return named?.key.mark ?? use?.mark ?? mark
  }

  private static func section(
    _ node: Node, _ noun: String, _ keys: [String], _ findings: inout Findings
  ) -> Section? {
    if let section = Section(node, keys: keys) { return section }
    switch node.content {
    case .unusable: break
    case .scalar(let scalar) where Grammar.isName(scalar.text) && !scalar.isNull:
      findings.report(node.mark, "\(noun) is a map, not \(scalar.shown)", "write '{ use: \(scalar.text) }'")
    default: findings.report(node.mark, "\(noun) is a map, not \(node.noun)", "write '{ use: NAME }'")
    }
    return nil
  }

  private static func options(_ node: Node, _ findings: inout Findings) -> [Node.Entry] {
    switch node.content {
    case .mapping(let entries): return entries
    case .unusable: break
    case _ where node.isNull: break
    default:
      findings.report(
        node.mark, "'options' takes a map, not \(node.noun)", "write 'options: { name: value }'")
    }
    return []
  }

  private static func badName(_ text: String) -> Fault {
    let better = text.lowercased().map { $0 == "_" || $0 == " " ? "-" : String($0) }.joined()
    return Fault(
      "\(quoted(text)) is not a name, which has lower case letters, digits and '-' only",
      Grammar.isName(better) ? "write '\(better)'" : "write one such as 'first-pdf'")
  }
}
