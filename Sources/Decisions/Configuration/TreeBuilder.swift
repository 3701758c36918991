import Platform

/// Builds the tree of a file from libyaml's events.
///
/// YAML features that pipeline files do not need are refused: anchors and aliases (a few lines of them can
/// expand to gigabytes), application-specific tags, several documents.
struct TreeBuilder: ~Copyable {
  /// The largest file, in bytes; also the limit for its values with variables filled in.
  static let byteLimit = 1 << 20
  /// The deepest nesting of lists and maps.
  static let depthLimit = 32

  private var events: EventStream
  private let substitution: Substitution?
  private var filledBytes = 0

  /// The whole file as a tree; `nil` if it cannot be read to its end, and the findings say why.
  ///
  /// - Parameters:
  ///   - substitution: what is filled in in values; `nil`: `$` has no special meaning.
  ///   - leastContent: what to say that an empty file lacks.
  static func tree(
    _ bytes: [UInt8], filling substitution: Substitution?, leastContent: String = Self.leastContent,
    findings: inout Findings
  ) -> Node? {
    if bytes.count > byteLimit {
      findings.report(
        .start, "the file has \(bytes.count) bytes, and 1MB is read", "shorten it")
      return nil
    }
    if TextEncoding.isUTF16(bytes[...]) {
      findings.report(.start, "the file is in UTF-16, and UTF-8 is read", "save it as UTF-8")
      return nil
    }
    // A byte order mark is no part of the text.
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    if text.isEmpty {
      findings.report(.start, "the file is empty", leastContent)
      return nil
    }
    return text.withUnsafeBufferPointer { buffer in
      do throws(Unreadable) {
        var builder = try TreeBuilder(buffer, substitution)
        return try builder.document(leastContent, &findings)
      } catch {
        findings.report(error.mark, error.fault)
        return nil
      }
    }
  }

  private static let leastContent = "it needs 'version: 1' and 'stages:' at least"

  private init(_ bytes: UnsafeBufferPointer<UInt8>, _ substitution: Substitution?) throws(Unreadable) {
    events = try EventStream(bytes)
    self.substitution = substitution
  }

  private mutating func document(
    _ leastContent: String, _ findings: inout Findings
  ) throws(Unreadable) -> Node {
    _ = try events.next()  // The start of the stream.
    let start = try events.next()
    guard case .documentStart = start.kind else {
      throw Unreadable(mark: .start, fault: Fault("the file is empty", leastContent))
    }
    let root = try node(events.next(), depth: 0, &findings)
    _ = try events.next()  // The end of the document.
    let end = try events.next()
    if case .documentStart = end.kind {
      findings.report(end.mark, "a second document begins here", "keep one in a file")
    }
    return root
  }

  private mutating func node(
    _ event: Event, depth: Int, _ findings: inout Findings
  ) throws(Unreadable) -> Node {
    let nested = depth + 1
    switch event.kind {
    case .scalar(let text, let isPlain):
      return try scalar(text, isPlain: isPlain, event, &findings)
    case .sequenceStart:
      checkProperties(event, tags: ["seq"], &findings)
      let (items, end) = try items(event, depth: nested, &findings)
      return Node(mark: event.mark, content: .sequence(items), end: end, isFlow: event.isFlow)
    case .mappingStart:
      checkProperties(event, tags: ["map"], &findings)
      let (entries, end) = try entries(event, depth: nested, &findings)
      return Node(mark: event.mark, content: .mapping(entries), end: end, isFlow: event.isFlow)
    case .alias(let name):
      findings.report(
        event.mark, "\(quoted("*" + name)) is an alias, and aliases are not read here",
        "write the value out, or put it in quotes")
      return Node(mark: event.mark, content: .unusable, end: event.end)
    default:
      throw Unreadable(mark: event.mark, fault: Fault("not valid YAML: a value is missing"))
    }
  }

  private mutating func items(
    _ start: Event, depth: Int, _ findings: inout Findings
  ) throws(Unreadable) -> (items: [Node], end: Mark) {
    try checkDepth(depth, start.mark)
    var items: [Node] = []
    while true {
      let event = try events.next()
      // Without brackets, the list ends where something else begins, perhaps far below.
      if case .sequenceEnd = event.kind {
        return (items, start.isFlow ? event.end : items.last?.end ?? start.end)
      }
      items.append(try node(event, depth: depth, &findings))
    }
  }

  private mutating func entries(
    _ start: Event, depth: Int, _ findings: inout Findings
  ) throws(Unreadable) -> (entries: [Node.Entry], end: Mark) {
    try checkDepth(depth, start.mark)
    var entries: [Node.Entry] = []
    var places: [String: Mark] = [:]
    while true {
      let event = try events.next()
      if case .mappingEnd = event.kind {
        return (entries, start.isFlow ? event.end : entries.last?.value.end ?? start.end)
      }
      guard case .scalar(let text, _) = event.kind else {
        findings.report(
          event.mark, "a key must be a single word",
          "put a key with brackets, or one that begins with '*', in quotes")
        _ = try node(event, depth: depth, &findings)
        _ = try node(events.next(), depth: depth, &findings)
        continue
      }
      checkProperties(event, tags: ["str"], &findings)
      let value = try node(events.next(), depth: depth, &findings)
      if let first = places[text] {
        findings.report(
          event.mark, "\(quoted(text)) is given twice, first at line \(first.line), column \(first.column)",
          "remove one of the two")
        continue
      }
      places[text] = event.mark
      entries.append(Node.Entry(key: Node.Key(text: text, mark: event.mark), value: value))
    }
  }

  private mutating func scalar(
    _ text: String, isPlain: Bool, _ event: Event, _ findings: inout Findings
  ) throws(Unreadable) -> Node {
    checkProperties(event, tags: ["str", "int", "float", "bool", "null"], &findings)
    // A tag decides about the type, as quotes otherwise do.
    let plain = event.tag.map { !($0 == "!" || $0.hasSuffix(":str")) } ?? isPlain
    let filled = substitution?.fill(text, limit: Self.byteLimit) ?? Substitution.Filled(text: text)
    for fault in filled.faults { findings.report(event.mark, fault) }
    filledBytes += filled.text.utf8.count
    if filledBytes > Self.byteLimit {
      throw Unreadable(
        mark: event.mark,
        fault: Fault("with variables filled in, the values come to more than 1MB", "shorten them"))
    }
    if filled.text.utf8.contains(0) {
      // Values reach the stages as C strings, which a NUL would truncate.
      findings.report(event.mark, "a value holds a NUL character", "remove it")
    } else if filled.faults.isEmpty {
      let written = filled.text == text && !filled.isSecret ? nil : text
      let scalar = Scalar(text: filled.text, isPlain: plain, written: written, isSecret: filled.isSecret)
      return Node(mark: event.mark, content: .scalar(scalar), end: event.end)
    }
    return Node(mark: event.mark, content: .unusable, end: event.end)
  }

  private func checkProperties(_ event: Event, tags: [String], _ findings: inout Findings) {
    if event.anchor != nil {
      findings.report(
        event.mark, "anchors and aliases are not read here", "remove the '&' and write each value out")
    }
    guard let tag = event.tag, tag != "!" else { return }
    let standard = "tag:yaml.org,2002:"
    let shown = tag.hasPrefix(standard) ? "!!" + tag.dropFirst(standard.count) : tag
    if !tags.contains(where: { shown == "!!" + $0 }) {
      findings.report(event.mark, "the tag \(quoted(shown)) is not read here", "remove it")
    }
  }

  private func checkDepth(_ depth: Int, _ mark: Mark) throws(Unreadable) {
    if depth > Self.depthLimit {
      throw Unreadable(
        mark: mark,
        fault: Fault(
          "lists and maps are nested more than \(Self.depthLimit) deep", "close the brackets before"))
    }
  }
}
