import Glibc
import Platform

/// An answer (RFC 9110, 15).
public struct Response {
  public enum Body {
    case none
    case bytes([UInt8])
    /// A part of a file, in bytes from its start. The file is shorter: the connection is cut, so that the client notices.
    case file(SharedDescriptor, Range<Int64>)
    /// The same, in the letters of Base64.
    case encodedFile(SharedDescriptor, Range<Int64>)
    /// What ``Exchange/send(_:)`` brings, until ``Exchange/finish()``.
    case stream
  }

  public var status: Int
  /// Names and values. The server adds Date, Connection and what says where the body ends.
  public var fields: [(name: String, value: String)]
  public var body: Body

  public init(_ status: Int, _ fields: [(name: String, value: String)] = [], _ body: Body = .none) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  public static func text(
    _ status: Int, _ text: String, _ fields: [(name: String, value: String)] = []
  ) -> Response {
    Response(
      status, fields + [("Content-Type", "text/plain; charset=utf-8")], .bytes(Array(text.utf8)))
  }

  var length: Int64? {
    switch body {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let range): Int64(range.count)
    case .encodedFile(_, let range): Int64(Base64.length(of: range.count))
    case .stream: nil
    }
  }

  /// 204 and 304 have no body, even if one is given (RFC 9110, 8.6); 1xx neither.
  var hasNoBody: Bool { status < 200 || status == 204 || status == 304 }

  /// The status line and the fields.
  ///
  /// - Parameters:
  ///   - keeps: whether the connection stays open.
  ///   - isChunked: of a stream: whether its end is marked, or is that of the connection.
  ///   - date: of now.
  func head(for request: RequestHead?, keeps: Bool, isChunked: Bool, date: String) -> [UInt8] {
    var head = beginning
    head.add("Date", date)
    if let length, !hasNoBody { head.add("Content-Length", String(length)) }
    if isChunked { head.add("Transfer-Encoding", "chunked") }
    if !keeps {
      head.add("Connection", "close")
    } else if request?.minorVersion == 0 {
      head.add("Connection", "keep-alive")
    }
    head.endLine()
    return head.bytes
  }

  /// Of an answer that another follows: nothing is said of the connection.
  var interimHead: [UInt8] {
    var head = beginning
    head.endLine()
    return head.bytes
  }

  /// The status line and the fields.
  private var beginning: HeadLines {
    var head = HeadLines(status)
    for (name, value) in fields { head.add(name, value) }
    return head
  }

  /// Lines as bytes, which no text has to be made of first.
  private struct HeadLines {
    private(set) var bytes: [UInt8] = []

    /// Begins with the status line.
    init(_ status: Int) {
      bytes.reserveCapacity(512)
      bytes.append(contentsOf: "HTTP/1.1 ".utf8)
      bytes.append(contentsOf: String(status).utf8)
      bytes.append(UInt8(ascii: " "))
      bytes.append(contentsOf: StatusText.of(status).utf8)
      endLine()
    }

    mutating func add(_ name: String, _ value: String) {
      bytes.append(contentsOf: name.utf8)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(UInt8(ascii: " "))
      let start = bytes.count
      bytes.append(contentsOf: value.utf8)
      // A value may come from a file's name: nothing in it ends the line.
      for index in start..<bytes.count where bytes[index] < 0x20 && bytes[index] != 9 || bytes[index] == 0x7F
      {
        bytes[index] = UInt8(ascii: " ")
      }
      endLine()
    }

    mutating func endLine() {
      bytes.append(0x0D)
      bytes.append(0x0A)
    }
  }
}

/// Dates as IMF-fixdate (RFC 9110, 5.6.7).
public enum HTTPDate {
  /// - Parameter seconds: since 1970.
  public static func text(_ seconds: Int) -> String {
    var (time, parts) = (seconds, tm())
    gmtime_r(&time, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return
      "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(1900 + parts.tm_year) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

enum StatusText {
  static func of(_ status: Int) -> String { texts[status] ?? "Status" }

  private static let texts = [
    100: "Continue", 104: "Upload Resumption Supported", 200: "OK", 201: "Created", 202: "Accepted",
    204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
    412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    416: "Range Not Satisfiable", 417: "Expectation Failed", 422: "Unprocessable Content", 423: "Locked",
    428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    460: "Checksum Mismatch", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
  ]
}
