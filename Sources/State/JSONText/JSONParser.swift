import SQLite

/// Parses JSON that others wrote. SQLite does it: it is linked anyway, and is hard to fool.
///
/// Used by one thread.
///
/// Unchecked because SQLite's connections may go from thread to thread.
public final class JSONParser: @unchecked Sendable {
  /// A member of an object, or an element of an array.
  public struct Member {
    public enum Kind: String, Sendable {
      case null, `true`, `false`, integer, real, text, array, object
    }

    /// Of an element of an array, its number from 0.
    public var key: String
    public var kind: Kind
    /// As text; of an array or object, its JSON.
    public var text: String
    /// Of an integer; else 0.
    public var integer: Int64
  }

  /// Why a text is no JSON.
  public struct Fault: Error, CustomStringConvertible {
    public var description: String
  }

  private let valid: Statement
  private let each: Statement

  public init() throws {
    let connection = try Connection(":memory:")
    valid = try connection.prepare("SELECT CASE WHEN json_valid(?1) THEN json_type(?1) = 'object' END")
    each = try connection.prepare("SELECT key, type, value FROM json_each(?1)")
  }

  /// Whether a text is a JSON object.
  public func isObject(_ json: String) throws(Fault) -> Bool {
    do {
      return try valid.first(.text(json)) { $0.integer(0) } == 1
    } catch {
      throw Fault(description: "\(error)")
    }
  }

  /// The members of an object, or the elements of an array, in their order. A key may stand there twice.
  public func members(_ json: String) throws(Fault) -> [Member] {
    var members: [Member] = []
    do {
      try each.rows(.text(json)) { row in
        guard let kind = Member.Kind(rawValue: row.text(1)) else { return }
        members.append(
          Member(
            key: row.text(0), kind: kind, text: row.text(2), integer: kind == .integer ? row.integer(2) : 0))
      }
    } catch {
      throw Fault(description: "\(error)")
    }
    return members
  }

  /// Whether a JSON text holds a NUL, as a byte or escaped. SQLite before 3.45 silently ends a text there,
  /// so a path would name another file.
  public static func holdsNUL(_ json: ArraySlice<UInt8>) -> Bool {
    if json.contains(0) { return true }
    var rest = json
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      rest = rest[(backslash + 1)...]
      if rest.starts(with: "u0000".utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// Whether a JSON text holds half of a surrogate pair, which is no character: SQLite makes other characters of it.
  public static func holdsLoneSurrogate(_ json: ArraySlice<UInt8>) -> Bool {
    var rest = json
    /// The code unit that `\uXXXX` at the front stands for.
    func unit(_ rest: ArraySlice<UInt8>) -> UInt16? {
      guard rest.starts(with: "\\u".utf8), rest.count >= 6 else { return nil }
      return UInt16(String(decoding: rest.dropFirst(2).prefix(4), as: UTF8.self), radix: 16)
    }
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      rest = rest[backslash...]
      switch unit(rest) {
      case .some(0xD800...0xDBFF):
        guard let next = unit(rest.dropFirst(6)), (0xDC00...0xDFFF).contains(next) else { return true }
        rest = rest.dropFirst(12)
      case .some(0xDC00...0xDFFF): return true
      // An escaped backslash begins no other escape.
      default: rest = rest.dropFirst(2)
      }
    }
    return false
  }
}
