import Pipeline
import Platform

// The ledger's values in JSON: in its rows, in events, and in the output of commands.
extension JSONWriter {
  /// An array of texts.
  public static func array(of texts: [String]) -> String {
    var writer = JSONWriter()
    writer.array { writer in
      for text in texts { writer.value(text) }
    }
    return writer.text
  }

  /// Metadata as an object, in the order it was recorded.
  public static func object(of metadata: [Metadatum]) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      for datum in metadata {
        writer.key(datum.key)
        switch datum.value {
        case .text(let value): writer.value(value)
        case .integer(let value): writer.value(value)
        case .number(let value): writer.value(value)
        case .boolean(let value): writer.value(value)
        }
      }
    }
    return writer.text
  }

  /// A reason as an object, or null.
  public mutating func member(_ key: String, _ reason: Reason?) {
    self.key(key)
    guard let reason else { return value(nil as String?) }
    object { writer in
      writer.member("stage", reason.stage)
      writer.member("code", reason.code)
      writer.member("message", reason.message)
    }
  }
}

extension Metadatum {
  /// Reads what ``JSONWriter/object(of:)`` wrote.
  package static func read(_ json: String) -> [Metadatum]? {
    JSONMembers.read(json)?.map { key, value in
      switch value {
      case .text(let text): Metadatum(key: key, value: .text(text))
      case .integer(let integer): Metadatum(key: key, value: .integer(integer))
      case .number(let number): Metadatum(key: key, value: .number(number))
      case .boolean(let boolean): Metadatum(key: key, value: .boolean(boolean))
      }
    }
  }
}

extension JSONWriter {
  /// Where a content came from: as text, and as Base64 where the path is not UTF-8, so that the text does not lead back to it.
  ///
  /// - Parameter path: empty: it is no path.
  public mutating func source(_ text: String, _ path: [UInt8]) {
    member("source", text)
    if String(validating: path, as: UTF8.self) == nil { member("sourceBase64", Base64.text(path)) }
  }
}
