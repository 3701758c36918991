/// What is asked for: all, or what is missing.
struct ResumePlan: Equatable {
  /// Bytes of the file that are there and count.
  var held: Int64
  /// What `If-Range` says; `nil`: it is not sent.
  var condition: Validators?
  /// Bytes of the whole, as an earlier answer said; `nil`: it did not.
  var total: Int64?

  /// The most that is compared without a validator, and with one: a server may give less than is asked for.
  static let (overlapLimit, conditionedOverlapLimit): (Int64, Int64) = (64 << 10, 8 << 10)

  /// Bytes before the missing ones that are asked for again and compared. A validator is good for the link that it came from, and
  /// a redirect, a new link or a server that is one of several may lead elsewhere: the seam shows it.
  var overlap: Int64 { min(held, condition == nil ? Self.overlapLimit : Self.conditionedOverlapLimit) }

  /// The first byte asked for.
  var first: Int64 { held - overlap }

  /// How to go on; `nil`: from the start.
  ///
  /// A range is asked for only if it can be told that the file is the same: by a strong validator, or by what the
  /// request for it says of the whole, which is compared in the end.
  static func make(
    held: Int64, _ validators: Validators, total: Int64? = nil, expectedSize: Int64?, knowsHash: Bool
  ) -> ResumePlan? {
    guard held > 0, held <= expectedSize ?? .max else { return nil }
    if let etag = validators.etag, Validators.isStrong(etag) {
      return ResumePlan(held: held, condition: Validators(etag: etag), total: total)
    }
    if let modified = validators.modified, modified.utf8.count <= Validators.limit,
      modified.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    {
      return ResumePlan(held: held, condition: Validators(modified: modified), total: total)
    }
    guard expectedSize != nil || knowsHash else { return nil }
    return ResumePlan(held: held, total: total)
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
