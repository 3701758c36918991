/// A plugin's description of its stage, read in a worker and checked.
public struct StageDescription: Sendable, Equatable {
  public enum Capability: UInt32, Sendable, CaseIterable {
    case content = 0, store, network

    public var name: String {
      switch self {
      case .content: "content"
      case .store: "store"
      case .network: "network"
      }
    }
  }

  public enum Role: Sendable, Equatable {
    case line, end, channel, source

    /// What people call one.
    public var noun: String {
      switch self {
      case .line, .end: "stage"
      case .channel: "channel"
      case .source: "source"
      }
    }
  }

  public struct Term: Sendable, Equatable {
    public var name: String
    public var help: String

    public init(name: String, help: String) {
      self.name = name
      self.help = help
    }
  }

  public var id: String
  public var version: String
  public var summary: String
  /// The contract version it was built for: `1.0`.
  public var abi = ""
  public var capability = Capability.content
  public var role = Role.line
  public var flushes = false
  public var produces = false
  /// It may leave objects beside the content.
  public var derives = false
  /// It may take contents out of the content, which become attachments.
  public var expands = false
  /// A channel that works on many events at once, and answers in any order.
  public var turns = false
  public var options: [OptionDescription] = []
  public var keys: [Term] = []
  public var codes: [Term] = []
  /// The file it was found in.
  public var file: String
  /// For a stage that is a program of any language; `nil`: it is a library.
  public var program: Program?

  /// It may write something beside the content.
  public var leavesPieces: Bool { derives || expands }

  /// It shares its worker with no other stage: one that works on many attachments at once, so that none waits behind it; or a program,
  /// for whose answers its worker waits.
  public var hasOwnWorker: Bool { turns || program != nil }

  public init(id: String, version: String, summary: String, file: String) {
    self.id = id
    self.version = version
    self.summary = summary
    self.file = file
  }
}

/// An option as its stage declares it.
public struct OptionDescription: Sendable, Equatable {
  public enum Kind: UInt32, Sendable {
    case text = 1, integer, number, boolean, bytes, duration, mediaType, template, channelName, file
  }

  /// The ways to write an option's value.
  public struct Shapes: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let one = Shapes(rawValue: 1)
    public static let list = Shapes(rawValue: 2)
    /// From media type patterns to values.
    public static let map = Shapes(rawValue: 4)
  }

  public var name: String
  public var kind: Kind
  public var shapes: Shapes
  public var required = false
  /// The default, as written in YAML.
  public var fallback: String?
  public var help: String
  /// The texts allowed; empty: any.
  public var choices: [String] = []
  /// Bounds of an integer, size (bytes) or duration (milliseconds).
  public var range: ClosedRange<Int64>?

  public init(name: String, kind: Kind, shapes: Shapes, help: String) {
    self.name = name
    self.kind = kind
    self.shapes = shapes
    self.help = help
  }
}

/// One value of an option. A list is several values of one name, in order.
public struct OptionValue: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  public var name: String
  /// The media type pattern, for a map's entry.
  public var key: String?
  public var text: String
  /// Of an integer, boolean (0, 1), size (bytes), duration (milliseconds).
  public var integer: Int64
  public var number: Double
  /// A text that was filled in, and may be a secret: nothing prints or records it.
  public var isSecret = false

  public init(name: String, key: String? = nil, text: String, integer: Int64 = 0, number: Double = 0) {
    self.name = name
    self.key = key
    self.text = text
    self.integer = integer
    self.number = number
  }

  /// Reads a scalar as an option of this kind; `nil` if it does not fit.
  public init?(name: String, key: String? = nil, text: String, kind: OptionDescription.Kind) {
    self.init(name: name, key: key, text: text)
    switch kind {
    case .text, .channelName, .file: break
    case .mediaType: guard MediaTypePattern(text) != nil else { return nil }
    case .template: guard PathTemplate(text) != nil else { return nil }
    case .integer:
      guard let value = Int64(text) else { return nil }
      integer = value
    case .number:
      guard let value = Double(text), value.isFinite else { return nil }
      number = value
    case .boolean:
      guard text == "true" || text == "false" else { return nil }
      integer = text == "true" ? 1 : 0
    case .bytes:
      guard let value = ByteSize(text) else { return nil }
      integer = value.bytes
    case .duration:
      guard let value = Interval(text) else { return nil }
      integer = value.milliseconds
    }
  }

  /// `name: text`, or `name[key]: text`. In place of a secret: `«secret»`.
  public var description: String {
    "\(name)\(key.map { "[\($0)]" } ?? ""): \(isSecret ? "«secret»" : text)"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["value": description], displayStyle: .struct)
  }
}
