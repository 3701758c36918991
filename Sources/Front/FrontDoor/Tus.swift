import FrontWire
import LedgerPort
import Pipeline
import Platform

/// The headers of tus 1.0.0 (https://tus.io/protocols/resumable-upload), read strictly.
enum Tus {
  private static let number = "1.0.0"
  static let extensions =
    "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination,concatenation"
  /// Of a request that has bytes of an upload.
  static let contentType = "application/offset+octet-stream"

  /// Each answer about uploads has it.
  static let version = FrontRequest.Pair("Tus-Resumable", number)
  /// Those that this speaks.
  static let versions = FrontRequest.Pair("Tus-Version", number)

  /// - Throws: 412, where a client speaks another version.
  static func check(_ request: FrontRequest) throws(Problem) {
    if request.field("tus-resumable") == number { return }
    throw Problem(
      412, "other-version", "this is tus \(number)", remedy: "send 'Tus-Resumable: \(number)'",
      fields: [versions])
  }

  /// A number of bytes of a field; `nil`: the field is not there.
  static func number(_ request: FrontRequest, _ name: String) throws(Problem) -> Int64? {
    let values = request.values(name)
    if values.isEmpty { return nil }
    guard values.count == 1, let text = values.first, !text.isEmpty,
      text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
    else {
      throw Problem(400, "invalid-header", "'\(name)' is a number of bytes, once")
    }
    // More digits than a file can have bytes.
    return text.utf8.count <= 18 ? Int64(text) : .max
  }

  /// Whether the body has bytes of the upload.
  static func hasContent(_ request: FrontRequest) throws(Problem) -> Bool {
    guard let type = request.field("content-type") else { return false }
    return type.lowercased() == contentType
  }

  // MARK: Checksums

  struct Checksum: Sendable, Equatable {
    var algorithm: MessageDigest.Algorithm
    var digest: [UInt8]
  }

  static let algorithms = "sha1,sha256"

  /// What a request says of its body; `nil`: nothing.
  ///
  /// - Parameter isPart: the body is a part of what the request announces.
  static func checksum(_ request: FrontRequest, isPart: Bool = false) throws(Problem) -> Checksum? {
    let all = [
      try uploadChecksum(request), try ContentDigest.checksum(request, "content-digest"),
      isPart ? nil : try ContentDigest.checksum(request, "repr-digest"),
    ].compactMap(\.self)
    // One is computed.
    guard all.allSatisfy({ $0 == all.first }) else {
      throw Problem(400, "invalid-checksum", "the body has two checksums", remedy: "send one of them")
    }
    return all.first
  }

  /// What `Upload-Checksum` says of the body; `nil`: nothing.
  private static func uploadChecksum(_ request: FrontRequest) throws(Problem) -> Checksum? {
    let values = request.values("upload-checksum")
    if values.isEmpty { return nil }
    let parts = values.count == 1 ? values[0].split(separator: " ") : []
    guard parts.count == 2, let algorithm = MessageDigest.Algorithm(rawValue: parts[0].lowercased()),
      let digest = Base64.bytes(String(parts[1])), digest.count == algorithm.length
    else {
      throw Problem(
        400, "invalid-checksum",
        "'Upload-Checksum' is one of \(algorithms), a space, and the digest in base64")
    }
    return Checksum(algorithm: algorithm, digest: digest)
  }

  // MARK: Metadata

  /// The names and values of `Upload-Metadata`.
  static func metadata(_ header: String) throws(Problem) -> [String: String] {
    var values: [String: String] = [:]
    if header.allSatisfy({ $0 == " " }) { return [:] }
    for pair in header.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = pair.split(separator: " ")
      guard let name = parts.first, parts.count <= 2, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
        let bytes = parts.count == 2 ? Base64.bytes(String(parts[1])) : [],
        let value = String(validating: bytes, as: UTF8.self), !bytes.contains(0)
      else {
        throw Problem(
          400, "invalid-metadata",
          "'Upload-Metadata' is names, each with a space and its value in base64 (UTF-8)")
      }
      guard values.updateValue(value, forKey: String(name)) == nil else {
        throw Problem(400, "invalid-metadata", "'Upload-Metadata' has '\(name)' twice")
      }
    }
    return values
  }

  /// What ``metadata(_:)`` reads.
  static func header(_ values: [String: String]) -> String {
    values.sorted { $0.key < $1.key }.map { "\($0) \(Base64.text(Array($1.utf8)))" }.joined(separator: ",")
  }

  // MARK: Concatenation

  enum Concat: Equatable {
    case partial
    /// Made of the uploads with these ids.
    case final([String])
  }

  /// What `Upload-Concat` says; `nil`: the upload stands for itself.
  static func concat(_ header: String?) throws(Problem) -> Concat? {
    guard let header else { return nil }
    if header == "partial" { return .partial }
    let ids = header.hasPrefix("final;") ? header.dropFirst(6).split(separator: " ").map(id) : []
    guard !ids.isEmpty, ids.count <= 100, !ids.contains(nil) else {
      throw Problem(
        400, "invalid-concat", "'Upload-Concat' is 'partial', or 'final;' and the places of 1 to 100 uploads")
    }
    return .final(ids.compactMap(\.self))
  }

  /// The id at the end of the place of an upload, which may be a whole URL.
  private static func id(_ place: Substring) -> String? {
    guard let last = place.split(separator: "/").last.map(String.init), isId(last) else { return nil }
    return last
  }

  // MARK: Ids

  static func isId(_ text: String) -> Bool { UploadRecord.isId(text.utf8) }
}
