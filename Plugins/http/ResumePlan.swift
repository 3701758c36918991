/// What is asked for: all, or what is missing.
struct ResumePlan: Equatable {
  /// Bytes of the file that are there and count.
  var held: Int64
  /// What earlier answers said of the file.
  var validators = Validators()
  /// Bytes of the whole, as an earlier answer said; `nil`: it did not.
  var total: Int64?

  /// The most that is compared without a validator, and with one: a server may give less than is asked for.
  static let (overlapLimit, conditionedOverlapLimit): (Int64, Int64) = (64 << 10, 8 << 10)

  /// Bytes before the missing ones that are asked for again and compared. A validator is good for the link that it came from, and
  /// a redirect, a new link or a server that is one of several may lead elsewhere: the seam shows it.
  var overlap: Int64 {
    min(held, validators.condition == nil ? Self.overlapLimit : Self.conditionedOverlapLimit)
  }

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
    guard validators.condition != nil || expectedSize != nil || knowsHash else { return nil }
    return ResumePlan(held: held, validators: validators, total: total)
  }

  /// The headers to send.
  var headers: [String] {
    var headers = ["Range: bytes=\(first)-"]
    if let value = validators.condition { headers.append("If-Range: \(value)") }
    return headers
  }

  /// Whether an answer with a part is of the file that is held.
  func isSame(_ head: AnswerHead) -> Bool { !Validators(head).differs(from: validators) }
}
