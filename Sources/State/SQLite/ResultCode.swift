import CSQLite

/// An SQLite result code. Its primary code matches all its extended ones: `.ioError ~= code` holds for each
/// `SQLITE_IOERR_…` (https://sqlite.org/rescode.html).
public struct ResultCode: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int32

  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

  public static let busy = ResultCode(rawValue: SQLITE_BUSY)
  public static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
  public static let ioError = ResultCode(rawValue: SQLITE_IOERR)
  public static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
  public static let full = ResultCode(rawValue: SQLITE_FULL)
  public static let cantOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
  public static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
  public static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)

  public static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
    pattern == code || (pattern == pattern.primary && pattern == code.primary)
  }
}

/// An error that SQLite reported: code, message and statement.
public struct SQLiteError: Error, Sendable, CustomStringConvertible {
  public let code: ResultCode
  public let message: String
  public let sql: String?

  /// Whether the code says that the file is damaged or not a database.
  public var isDamage: Bool { ResultCode.corrupt ~= code || ResultCode.notADatabase ~= code }

  public var description: String {
    let statement =
      sql.map { " in `\($0.split(whereSeparator: \.isWhitespace).prefix(12).joined(separator: " "))`" } ?? ""
    return "\(message) (SQLite \(code.rawValue))\(statement)"
  }
}
