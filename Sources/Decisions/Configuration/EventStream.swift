import CYAML

/// One event of libyaml's parser.
struct Event {
  enum Kind {
    case streamStart, streamEnd, documentStart, documentEnd
    case scalar(text: String, isPlain: Bool)
    case alias(String)
    case sequenceStart, sequenceEnd, mappingStart, mappingEnd
  }

  var kind: Kind
  var mark: Mark
  var end = Mark.start
  /// In braces or brackets.
  var isFlow = false
  var anchor: String?
  var tag: String?
}

/// An error that makes a file unreadable from a place on.
struct Unreadable: Error {
  var mark: Mark
  var fault: Fault
}

/// libyaml's parser. All unsafe pointers of this module are here.
struct EventStream: ~Copyable {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let bytes: UnsafeBufferPointer<UInt8>
  private let end: Mark

  /// - Parameter bytes: not empty; must outlive the stream, because libyaml reads them incrementally.
  init(_ bytes: UnsafeBufferPointer<UInt8>) throws(Unreadable) {
    self.bytes = bytes
    end = SyntaxFault.end(of: bytes)
    parser = .allocate(capacity: 1)
    guard yaml_parser_initialize(parser) == 1 else {
      // libyaml has freed its memory; the structure is zeroed, which `yaml_parser_delete` accepts.
      throw Unreadable(mark: .start, fault: Fault("there is not enough memory to read it"))
    }
    // Set, so that a file in UTF-16 is refused like any other that is not UTF-8.
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  /// The next event. Do not call it again after the end of the stream or an error.
  mutating func next() throws(Unreadable) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw SyntaxFault.unreadable(parser.pointee, bytes) }
    defer { yaml_event_delete(&event) }
    var next = step(event)
    next.end = Mark(event.end_mark, before: end)
    return next
  }

  private func step(_ event: yaml_event_t) -> Event {
    let mark = Mark(event.start_mark, before: end)
    switch event.type {
    case YAML_STREAM_START_EVENT: return Event(kind: .streamStart, mark: mark)
    case YAML_DOCUMENT_START_EVENT: return Event(kind: .documentStart, mark: mark)
    case YAML_DOCUMENT_END_EVENT: return Event(kind: .documentEnd, mark: mark)
    case YAML_ALIAS_EVENT: return Event(kind: .alias(text(event.data.alias.anchor) ?? ""), mark: mark)
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      let value = String(
        decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      let kind = Event.Kind.scalar(text: value, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
      return Event(kind: kind, mark: mark, anchor: text(scalar.anchor), tag: text(scalar.tag))
    case YAML_SEQUENCE_START_EVENT:
      let start = event.data.sequence_start
      let isFlow = start.style == YAML_FLOW_SEQUENCE_STYLE
      return Event(
        kind: .sequenceStart, mark: mark, isFlow: isFlow, anchor: text(start.anchor), tag: text(start.tag))
    case YAML_MAPPING_START_EVENT:
      let start = event.data.mapping_start
      let isFlow = start.style == YAML_FLOW_MAPPING_STYLE
      return Event(
        kind: .mappingStart, mark: mark, isFlow: isFlow, anchor: text(start.anchor), tag: text(start.tag))
    case YAML_SEQUENCE_END_EVENT: return Event(kind: .sequenceEnd, mark: mark)
    case YAML_MAPPING_END_EVENT: return Event(kind: .mappingEnd, mark: mark)
    default: return Event(kind: .streamEnd, mark: mark)
    }
  }

  private func text(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
    pointer.map { String(cString: $0) }
  }
}

extension Mark {
  /// libyaml counts lines and columns from 0. If the last line has no newline, libyaml adds one, and may
  /// report a line past the end.
  init(_ mark: yaml_mark_t, before end: Mark) {
    let isThere = Int(clamping: mark.line) < end.line
    self.init(
      line: isThere ? Int(clamping: mark.line) + 1 : end.line,
      column: isThere ? Int(clamping: mark.column) + 1 : end.column, index: Int(clamping: mark.index))
  }
}
