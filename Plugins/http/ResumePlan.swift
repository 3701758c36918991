/// What is asked for: all, or what is missing.
struct ResumePlan: Equatable {
  /// Bytes of the file that are there and count.
  var held: Int64
  /// Bytes before the missing ones that are asked for again and compared.
  var overlap: Int64 = 0
  /// What `If-Range` says; `nil`: it is not sent.
  var condition: Validators?

  /// The most that is compared.
  static let overlapLimit: Int64 = 64 << 10

  /// The first byte asked for.
  var first: Int64 { held - overlap }

  /// How to go on; `nil`: from the start.
  ///
  /// A range is asked for only if it can be told that the file is the same: by a strong validator, or by what the
  /// request for it says of the whole, which is compared in the end.
  static func make(
    held: Int64, _ validators: Validators, expectedSize: Int64?, knowsHash: Bool
  ) -> ResumePlan? {
    guard held > 0, held <= expectedSize ?? .max else { return nil }
    if let etag = validators.etag, Validators.isStrong(etag) {
      return ResumePlan(held: held, condition: Validators(etag: etag))
    }
    if let modified = validators.modified, modified.utf8.count <= Validators.limit,
      modified.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    {
      return ResumePlan(held: held, condition: Validators(modified: modified))
    }
    guard expectedSize != nil || knowsHash else { return nil }
    return ResumePlan(held: held, overlap: min(held, overlapLimit))
  }

  /// The headers to send.
  var headers: [String] {
    var headers = ["Range: bytes=\(first)-"]
    if let value = condition?.etag ?? condition?.modified { headers.append("If-Range: \(value)") }
    return headers
  }

  /// Whether an answer with a part is of the file that is held.
  func isSame(_ head: AnswerHead) -> Bool {
    if let etag = condition?.etag { return head.text("etag") == etag }
    if let modified = condition?.modified { return head.text("last-modified") == modified }
    return true
  }
}
