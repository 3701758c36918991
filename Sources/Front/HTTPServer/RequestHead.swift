/// The request line and the header of a request, as they came (RFC 9112).
public struct RequestHead: Sendable, Equatable {
  /// Where a field's name and value stand in ``raw``; the value without white space around it.
  public struct Field: Sendable, Equatable {
    public let name: Range<Int>
    public let value: Range<Int>
  }

  /// How the end of the body is found.
  public enum Framing: Sendable, Equatable {
    case none
    /// The bytes that follow.
    case length(Int64)
    case chunked
  }

  /// All of it, to the empty line: to check a signature takes the bytes that were signed.
  public private(set) var raw: [UInt8]
  public private(set) var fields: [Field]
  /// A token of capital letters, such as `GET`.
  public let method: String
  /// As it was sent: `/v1/uploads?limit=5`. ASCII without spaces and controls.
  public let target: String
  /// 0 or 1, of HTTP/1.
  public let minorVersion: Int
  /// With the port where one was given; empty: a client of HTTP/1.0 named none.
  public internal(set) var host = ""
  public internal(set) var framing = Framing.none
  /// Whether it waits for 100 (Continue) before it sends the body.
  public internal(set) var expectsContinue = false
  /// Whether the client wants to send another request over the connection.
  public internal(set) var keepsAlive = false

  init(raw: [UInt8], fields: [Field], method: String, target: String, minorVersion: Int) {
    (self.raw, self.fields, self.method, self.target) = (raw, fields, method, target)
    self.minorVersion = minorVersion
  }

  /// The fields are not needed any more, nor is the memory that they take.
  mutating func dropFields() { (raw, fields) = ([], []) }

  /// The values of all fields with this name, in order.
  ///
  /// - Parameter name: in small letters.
  public func values(_ name: String) -> [String] {
    fields.compactMap { isNamed($0, name) ? text($0.value) : nil }
  }

  /// The value of the only field with this name; `nil`: there is none, or there are several.
  public func value(_ name: String) -> String? {
    var found: Field?
    for field in fields where isNamed(field, name) {
      if found != nil { return nil }
      found = field
    }
    return found.map { text($0.value) }
  }

  /// All fields in their order, with names in small letters. Bytes that are no UTF-8 become U+FFFD.
  public func pairs<Pair>(_ pair: (_ name: String, _ value: String) -> Pair) -> [Pair] {
    fields.map { pair(text($0.name).lowercased(), text($0.value)) }
  }

  func text(_ range: Range<Int>) -> String { String(decoding: raw[range], as: UTF8.self) }

  private func isNamed(_ field: Field, _ name: String) -> Bool {
    let wanted = name.utf8
    return field.name.count == wanted.count
      && zip(raw[field.name], wanted).allSatisfy { byte, letter in
        letter == (byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte)
      }
  }
}

/// Why a request is not read on. The connection is closed after the answer: where the next request begins is not known any more.
public struct RequestFault: Error, Equatable {
  /// Of the answer.
  public let status: Int
  /// For the client; says nothing of what was sent but its kind.
  public let reason: String

  public init(_ status: Int, _ reason: String) { (self.status, self.reason) = (status, reason) }
}
