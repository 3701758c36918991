/// An option, declared once as a constant and read with ``Opening/subscript(_:)``.
///
///     static let max = Option<UInt64?>.bytes("max", help: "The largest size that passes.")
public struct Option<Value>: OptionDeclaration {
  /// What the host is told of it.
  public let declaration: Declaration
  let read: @Sendable ([Entry]) -> Value

  /// Restricts a text option to these values.
  public func among(_ choices: String...) -> Option {
    var declaration = declaration
    declaration.choices = choices
    return Option(declaration: declaration, read: read)
  }

  /// Bounds an integer, size or duration.
  public func within(_ range: ClosedRange<Int64>) -> Option {
    var declaration = declaration
    declaration.range = range
    return Option(declaration: declaration, read: read)
  }

  /// Makes a pipeline without this option an error.
  public func required() -> Option {
    var declaration = declaration
    declaration.required = true
    return Option(declaration: declaration, read: read)
  }
}

/// An option of any type, as a stage lists it.
public protocol OptionDeclaration: Sendable {
  /// What the host is told of it.
  var declaration: Declaration { get }
}

/// What the host is told of an option.
public struct Declaration: Sendable {
  /// Lower case, words joined by `-`.
  public let name: String
  /// One of the contract's types, `SLUICE_TEXT` and so on.
  public let type: sluice_option_type
  /// The ways to write it: `SLUICE_ONE`, `SLUICE_LIST`, `SLUICE_MAP`, joined by `|`.
  public let shapes: UInt32
  /// The default, as written in YAML; `nil`: none.
  public let fallback: String?
  /// One sentence for the author of a pipeline.
  public let help: String
  /// The texts allowed; empty: any.
  public var choices: [String] = []
  /// Bounds of an integer, size (bytes) or duration (milliseconds).
  public var range: ClosedRange<Int64>?
  /// Whether a pipeline without it is refused.
  public var required = false
}

/// One value of an option: the pattern it is for, if the option is a map, and the value in each reading.
public struct Entry: Sendable {
  /// Of a map's entry: the media type pattern it is for.
  public let pattern: String?
  /// The value as written.
  public let text: String
  /// Of an integer, a boolean (0, 1), a size (bytes), a duration (milliseconds).
  public let integer: Int64
  /// Of a number.
  public let number: Double
}

extension Option {
  private init(
    _ name: String, _ type: sluice_option_type, _ shapes: UInt32, _ fallback: String?, _ help: String,
    read: @escaping @Sendable ([Entry]) -> Value
  ) {
    self.init(
      declaration: Declaration(name: name, type: type, shapes: shapes, fallback: fallback, help: help),
      read: read)
  }
}

extension Option where Value == String {
  /// A text with a default, as written in YAML.
  public static func text(_ name: String, default fallback: String, help: String) -> Option {
    Option(name, SLUICE_TEXT, SLUICE_ONE, fallback, help) { $0.first?.text ?? fallback }
  }
}

extension Option where Value == String? {
  /// A text that may be left out.
  public static func text(_ name: String, help: String) -> Option {
    Option(name, SLUICE_TEXT, SLUICE_ONE, nil, help) { $0.first?.text }
  }
}

extension Option where Value == String? {
  /// A file that the stage writes, relative to the home. The host refuses its own files.
  public static func file(_ name: String, help: String) -> Option {
    Option(name, SLUICE_FILE, SLUICE_ONE, nil, help) { $0.first?.text }
  }

  /// The name of a channel of the pipeline.
  public static func channel(_ name: String, help: String) -> Option {
    Option(name, SLUICE_CHANNEL_NAME, SLUICE_ONE, nil, help) { $0.first?.text }
  }
}

extension Option where Value == String {
  /// A file that the stage writes, relative to the home, with a default. The host refuses its own files.
  public static func file(_ name: String, default fallback: String, help: String) -> Option {
    Option(name, SLUICE_FILE, SLUICE_ONE, fallback, help) { $0.first?.text ?? fallback }
  }
}

extension Option where Value == Bool {
  /// True or false, with a default.
  public static func boolean(_ name: String, default fallback: Bool, help: String) -> Option {
    Option(name, SLUICE_BOOLEAN, SLUICE_ONE, fallback ? "true" : "false", help) {
      $0.first.map { $0.integer != 0 } ?? fallback
    }
  }
}

extension Option where Value == Bool? {
  /// True or false, or left out.
  public static func boolean(_ name: String, help: String) -> Option {
    Option(name, SLUICE_BOOLEAN, SLUICE_ONE, nil, help) { $0.first.map { $0.integer != 0 } }
  }
}

extension Option where Value == Double {
  /// A number with a default, never infinite and never "not a number". The contract has bounds for whole numbers only, so
  /// that a stage checks this one's in `init`.
  public static func number(_ name: String, default fallback: Double, help: String) -> Option {
    Option(name, SLUICE_NUMBER, SLUICE_ONE, String(fallback), help) { $0.first?.number ?? fallback }
  }
}

extension Option where Value == Double? {
  /// A number that may be left out.
  public static func number(_ name: String, help: String) -> Option {
    Option(name, SLUICE_NUMBER, SLUICE_ONE, nil, help) { $0.first?.number }
  }
}

extension Option where Value == Int64? {
  /// A whole number that may be left out.
  public static func integer(_ name: String, help: String) -> Option {
    Option(name, SLUICE_INTEGER, SLUICE_ONE, nil, help) { $0.first?.integer }
  }

  /// A duration (`30s`), in milliseconds, that may be left out.
  public static func duration(_ name: String, help: String) -> Option {
    Option(name, SLUICE_DURATION, SLUICE_ONE, nil, help) { $0.first?.integer }
  }

  /// A size (`10MB`), in bytes, that may be left out.
  public static func bytes(_ name: String, help: String) -> Option {
    Option(name, SLUICE_BYTES, SLUICE_ONE, nil, help) { $0.first?.integer }
  }
}

extension Option where Value == Int64 {
  /// A whole number with a default.
  public static func integer(_ name: String, default fallback: Int64, help: String) -> Option {
    Option(name, SLUICE_INTEGER, SLUICE_ONE, String(fallback), help) { $0.first?.integer ?? fallback }
  }

  /// A size (`10MB`), in bytes; the default is written as in YAML.
  public static func bytes(_ name: String, default fallback: String, help: String) -> Option {
    Option(name, SLUICE_BYTES, SLUICE_ONE, fallback, help) { $0.first?.integer ?? 0 }
  }

  /// A duration (`30s`), in milliseconds; the default is written as in YAML.
  public static func duration(_ name: String, default fallback: String, help: String) -> Option {
    Option(name, SLUICE_DURATION, SLUICE_ONE, fallback, help) { $0.first?.integer ?? 0 }
  }
}

extension Option where Value == [String] {
  /// Several texts; one may be written without brackets.
  public static func texts(_ name: String, help: String) -> Option {
    Option(name, SLUICE_TEXT, SLUICE_ONE | SLUICE_LIST, nil, help) { $0.map(\.text) }
  }

  /// Media type patterns, such as `application/pdf`, `image/*` or `*/*`.
  public static func mediaTypes(_ name: String, help: String) -> Option {
    Option(name, SLUICE_MEDIA_TYPE, SLUICE_ONE | SLUICE_LIST, nil, help) { $0.map(\.text) }
  }

  /// Names of channels of the pipeline.
  public static func channels(_ name: String, help: String) -> Option {
    Option(name, SLUICE_CHANNEL_NAME, SLUICE_ONE | SLUICE_LIST, nil, help) { $0.map(\.text) }
  }
}

extension Option where Value == [Entry] {
  /// Sizes by media type pattern.
  public static func bytesByMediaType(_ name: String, help: String) -> Option {
    Option(name, SLUICE_BYTES, SLUICE_MAP, nil, help) { $0 }
  }

  /// A path template, or a map from media type patterns to templates. See ``Attachment/expand(_:)``.
  public static func template(_ name: String, help: String) -> Option {
    Option(name, SLUICE_TEMPLATE, SLUICE_ONE | SLUICE_MAP, nil, help) { $0 }
  }
}
