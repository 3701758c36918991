import Pipeline

/// One case of a `cases.yaml`: the input of a stage or a pipeline, and the expected result.
public struct Case: Sendable {
  /// The source of the content.
  public enum Input: Sendable, Equatable {
    /// A path, taken from the folder of the cases' file.
    case file(String)
    case bytes([UInt8])
    case zeros(Int64)
  }

  /// An event to deliver, for channels.
  public struct Event: Sendable, Equatable {
    public var id = "00000000-0000-7000-8000-0000000000e1"
    public var type = "attachment.completed"
    public var recipient = "recipient"
    /// `nil`: one like those of the coordinator.
    public var body: String?

    public init() {}
  }

  /// A verdict that replaces running a stage, in a case of a pipeline.
  public struct Canned: Sendable {
    public var verdict: Verdict
    public var code: String?
    public var message: String?
    public var mediaType: String?
    public var metadata: [Metadatum] = []
  }

  public var name: String
  /// Where it begins.
  public var line: Int
  public var input: Input?
  public var fileName: String?
  public var declaredType: String?
  /// The media type that an earlier stage found.
  public var mediaType: String?
  /// The metadata that earlier stages recorded.
  public var metadata: [Metadatum] = []
  /// For stages that store: a stored path with the same content.
  public var twin: String?
  public var attempt = 1
  /// Limits that differ from the defaults: milliseconds and bytes.
  public var timeout: Int64?
  public var memory: Int64?
  /// The outcome, for stages at the end.
  public var outcome: Status?
  public var reason: Reason?
  public var event: Event?
  /// What a source is to fetch.
  public var link: String?
  /// The initial files of the store, or for a channel of the home: texts by path.
  public var files: [String: String] = [:]
  public var canned: [String: Canned] = [:]
  public internal(set) var expectation = Expectation()
  var nameMark = Mark.start
  var options: [Node.Entry] = []
  var optionsMark = Mark.start
}

/// The expectations of a case. Keys that are not named are not compared.
public struct Expectation: Sendable {
  /// A value with its line.
  public struct Expected<Value: Sendable>: Sendable {
    public var value: Value
    public var line: Int
  }

  /// A text, or a pattern for one.
  public enum Text: Sendable, Equatable {
    case exactly(String)
    /// A POSIX extended regular expression (regex(7)) that matches somewhere in it.
    case matching(String)
  }

  /// A value of metadata.
  public enum Value: Sendable, Equatable {
    case scalar(String, isPlain: Bool)
    case matching(String)
    /// The key is not there.
    case absent
  }

  public struct Event: Sendable, Equatable {
    public var type: String?
    public var channel: String?
    public var audience: String?
  }

  /// Expected facts of new content, or of a file in the store or the home.
  public struct Content: Sendable, Equatable {
    public var sha256: String?
    public var size: Int64?
    public var text: Text?
  }

  /// The stage does not open, or its options are refused.
  public var refused: Expected<Text>?
  public var verdict: Expected<String>?
  /// Of a pipeline: how the attachment ends.
  public var outcome: Expected<String>?
  /// Of a pipeline: the stage that decided.
  public var stage: Expected<String>?
  /// Of a pipeline: the stages that ran, in order.
  public var path: Expected<[String]>?
  public var code: Expected<Text>?
  public var message: Expected<Text>?
  public var mediaType: Expected<String>?
  /// These keys and no others.
  public var metadata: Expected<[(key: String, value: Value)]>?
  /// These keys at least.
  public var metadataIncludes: Expected<[(key: String, value: Value)]>?
  public var events: Expected<[Event]>?
  /// An inner `nil`: nothing is produced.
  public var produced: Expected<Content?>?
  /// All derived objects, by name.
  public var derived: Expected<[(path: String, file: Content)]>?
  /// All contents that were taken out of the content, by their names; a name that comes again has ` (2)` after it, and so on.
  public var children: Expected<[(path: String, file: Content)]>?
  public var location: Expected<Text>?
  /// All files present afterwards, by path.
  public var files: Expected<[(path: String, file: Content)]>?
  /// The limit on the wall clock time, in milliseconds.
  public var within: Expected<Int64>?

  /// The node as written, for the parts that stay when others are rewritten.
  var node = Node(mark: .start, content: .mapping([]))
  /// The case around it is written in braces.
  var isInFlow = false

  public init() {}

  public var line: Int { node.mark.line }

  var entries: [Node.Entry] {
    if case .mapping(let entries) = node.content { entries } else { [] }
  }

  /// Nothing is expected yet: `{}`.
  public var isEmpty: Bool { entries.isEmpty }

  /// The keys of metadata that ``metadataIncludes`` names.
  public var includedKeys: [String] { metadataIncludes?.value.map(\.key) ?? [] }
}
