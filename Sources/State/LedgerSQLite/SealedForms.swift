import LedgerPort
import Platform

// What of a transfer lies sealed in the ledger, as bytes: its link, and the validators of its server.

extension Link {
  /// Its fields, each ended by NUL, which none of them has; after a `=` those that are there.
  var coded: [UInt8] {
    var bytes: [UInt8] = []
    let fields: [String?] = [
      method, url, body, credential, size.map(String.init), sha256.map(Hexadecimal.text), declaredType,
      // What came later is at the end: older rows have less.
      expiresAt.map(String.init), scope,
    ]
    for field in fields {
      if let field { bytes += [UInt8(ascii: "=")] + Array(field.utf8) }
      bytes.append(0)
    }
    return bytes
  }

  init?(coded bytes: [UInt8]) {
    let fields = bytes.split(separator: 0, omittingEmptySubsequences: false).map { field in
      field.first == UInt8(ascii: "=") ? String(decoding: field.dropFirst(), as: UTF8.self) : nil
    }
    guard fields.count >= 7, let method = fields[0], let url = fields[1] else { return nil }
    self.init(
      url: url, method: method, body: fields[2], credential: fields[3], size: fields[4].flatMap { Int64($0) },
      sha256: fields[5].flatMap { Hexadecimal.bytes($0) }, declaredType: fields[6],
      expiresAt: fields.count > 7 ? fields[7].flatMap { Int64($0) } : nil,
      scope: fields.count > 8 ? fields[8] : nil)
  }
}

extension TransferState {
  /// Its validators; `nil`: it has none.
  var coded: [UInt8]? {
    if etag == nil && modified == nil { return nil }
    return Array((etag ?? "").utf8) + [0] + Array((modified ?? "").utf8)
  }

  mutating func takeValidators(coded bytes: [UInt8]) {
    let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard parts.count == 2 else { return }
    (etag, modified) = (parts[0].isEmpty ? nil : parts[0], parts[1].isEmpty ? nil : parts[1])
  }
}
