import FrontWire
import LedgerPort
import Pipeline

/// A request that speaks the IETF's draft "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload, 04 to 10).
struct UploadDraft: Sendable, Equatable {
  /// As `Upload-Draft-Interop-Version` says it. These differ, in what a server says, by the name of one limit.
  var version: Int64

  static let versions: ClosedRange<Int64> = 6...8
  /// Of a request that has bytes of an upload.
  static let contentType = "application/partial-upload"
  /// In the place of `Upload-Concat`: not its last byte ends it, but a request that says so.
  static let mark = "draft"

  /// `nil`: it speaks tus, or a version that is not known here, or the pipeline file does not want the draft.
  init?(_ request: FrontRequest, _ rules: ServeRules) {
    guard rules.uploadDraft, request.values("tus-resumable").isEmpty,
      let version = Self.integer(request, "upload-draft-interop-version"), Self.versions.contains(version)
    else { return nil }
    self.version = version
  }

  /// What a request says of the part of an upload that it brings.
  struct Part: Sendable {
    var offset: Int64
    /// The upload ends with it.
    var isLast: Bool
    /// The upload was begun with the same request.
    var isNew = false
    /// What the request says of its bytes.
    var checksum: Tus.Checksum?
    /// The trace that the request belongs to.
    var trace: String?
  }

  // MARK: What requests say

  /// A field that is a number and not negative (RFC 9651, 3.3.1); `nil`: it is not there, or has to be ignored.
  static func integer(_ request: FrontRequest, _ name: String) -> Int64? {
    guard let text = item(request, name), (1...15).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
    else { return nil }
    return Int64(text)
  }

  /// What `Upload-Complete` says; `nil`: it is not there, or has to be ignored.
  static func isLast(_ request: FrontRequest) -> Bool? {
    switch item(request, "upload-complete") {
    case "?1": true
    case "?0": false
    default: nil
    }
  }

  /// Whether it says, in any version, that its body is not the whole.
  static func isPart(_ request: FrontRequest) -> Bool {
    isLast(request) == false || item(request, "upload-incomplete") == "?1"
  }

  /// The value of a structured field, without its parameters.
  private static func item(_ request: FrontRequest, _ name: String) -> String? {
    guard let value = request.field(name)?.split(separator: ";", maxSplits: 1).first else { return nil }
    return String(value.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }

  /// The bytes that the upload will have; `nil`: that is left open.
  ///
  /// - Parameter offset: where those of this request go.
  static func length(_ request: FrontRequest, from offset: Int64, isLast: Bool) throws(Problem) -> Int64? {
    let said = integer(request, "upload-length")
    var shown: Int64?
    if isLast {
      switch request.body {
      case .none: shown = offset
      case .length(let count): shown = count > .max - offset ? .max : offset + count
      case .unknown: break
      }
    }
    if let said, let shown, said != shown { throw otherLength }
    return said ?? shown
  }

  /// The name in `Content-Disposition` (RFC 6266); `nil`: there is none that is plain.
  static func fileName(_ request: FrontRequest) -> String? {
    guard let value = request.field("content-disposition") else { return nil }
    for part in value.split(separator: ";").dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[0].lowercased().filter({ $0 != " " }) == "filename" else { continue }
      let text = pair[1].drop { $0 == " " }
      let name = text.first == "\"" ? text.dropFirst().prefix { $0 != "\"" } : text.prefix { $0 != " " }
      return name.isEmpty ? nil : String(name)
    }
    return nil
  }

  // MARK: What is answered

  /// The limits of an upload that has so many milliseconds left.
  func limits(_ longest: Int64, left: Int64) -> FrontRequest.Pair {
    let age = version == 6 ? "expires" : "max-age"
    return .init("Upload-Limit", "max-size=\(longest), \(age)=\(max(left, 0) / 1000)")
  }

  static func isComplete(_ value: Bool) -> FrontRequest.Pair { .init("Upload-Complete", value ? "?1" : "?0") }

  /// What a client may find out before it begins; empty: the draft is not spoken.
  static func options(_ rules: ServeRules) -> [FrontRequest.Pair] {
    rules.uploadDraft
      ? [.init("Accept-Patch", contentType), .init("Upload-Limit", "max-size=\(rules.longest)")] : []
  }

  // MARK: What goes wrong

  private static let types = "https://iana.org/assignments/http-problem-types#"

  static let otherVersion = Problem(
    400, "other-version", "this body says that it is a part, and here it would be taken for the whole",
    remedy:
      "send all of it, or with 'upload-draft: true' under 'serve' in the pipeline file, "
      + "'Upload-Draft-Interop-Version: \(versions.lowerBound)' to '\(versions.upperBound)'")

  static var otherLength: Problem {
    var problem = Problem(400, "invalid-length", "the lengths that are said of this upload differ")
    problem.type = types + "inconsistent-upload-length"
    return problem
  }

  static var completed: Problem {
    var problem = Problem(
      400, "completed", "the upload is whole, and takes no more", fields: [isComplete(true)])
    problem.type = types + "completed-upload"
    return problem
  }

  static func otherOffset(_ given: Int64, _ size: Int64) -> Problem {
    var problem = Problem(
      409, "other-offset", "the upload has \(size) bytes",
      fields: [.init("Upload-Offset", String(size)), isComplete(false)])
    problem.type = types + "mismatching-upload-offset"
    problem.numbers = [("expected-offset", size), ("provided-offset", given)]
    return problem
  }

  static let wrongType = Problem(
    415, "wrong-type", "bytes of an upload come as \(contentType)",
    fields: [.init("Accept-Patch", contentType)])
}

extension UploadRecord {
  /// Whether it was begun by the IETF's draft.
  var isOfDraft: Bool { concat == UploadDraft.mark }

  /// Whether it is an attachment once all its bytes are there.
  var endsWithItsLastByte: Bool { concat != "partial" && !isOfDraft }
}
