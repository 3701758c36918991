import StageKit

/// What the head of an answer makes of a transfer.
enum Decision {
  /// The body is content.
  case content(Body)
  /// The content is elsewhere; as `Location` says it.
  case redirect(status: Int, to: String)
  /// What is held cannot be gone on with: ask again for all of it.
  case restart
  case end(Outcome)

  /// Content that comes.
  struct Body: Equatable {
    /// Where in the content its first byte belongs.
    var first: Int64 = 0
    /// So many of its bytes are in the file already, and are compared.
    var overlap: Int64 = 0
    /// Bytes of the whole answer's content; `nil`: not told.
    var total: Int64?
    /// Where in the content the body ends; `nil`: not told.
    var end: Int64?
    var validators = Validators()
  }
}

extension Decision {
  /// - Parameter now: seconds since 1970.
  init(_ head: AnswerHead, to question: Question, now: Int64) {
    do throws(MalformedAnswer) {
      self = try Self.decide(head, question, now)
    } catch {
      self = .end(error.outcome(of: question.link.host))
    }
  }

  private static func decide(
    _ head: AnswerHead, _ question: Question, _ now: Int64
  ) throws(MalformedAnswer) -> Decision {
    switch head.status {
    case 200, 203: return try whole(head, question)
    case 201 where question.method == .post: return try whole(head, question)
    case 206: return try part(head, question)
    case 301, 302, 303, 307, 308:
      guard let target = head.location else {
        throw MalformedAnswer("it redirects (\(head.status)) and does not say where to")
      }
      return .redirect(status: head.status, to: target)
    case 416:
      // Not even of what is held there is anything left.
      guard question.resume != nil else {
        return .end(.fail("refused", "\(question.link.host) answered 416 to a request for all of it"))
      }
      return restart(question)
    default: return .end(StatusOutcome.of(head, question, now: now))
    }
  }

  /// The whole content comes.
  private static func whole(
    _ head: AnswerHead, _ question: Question
  ) throws(MalformedAnswer) -> Decision {
    if let outcome = try refusal(of: head, question) { return .end(outcome) }
    let length = try head.contentLength()
    guard question.form == .body else { return .content(Body()) }
    if let length {
      if length > question.limit { return .end(tooLarge(length, question)) }
      if let expected = question.expectedSize, length != expected {
        return .end(sizeMismatch(length, expected, question))
      }
    }
    let validators = Validators(head)
    // By its strong tag it is the file that was begun, whose length was told.
    guard let resume = question.resume, let told = resume.total, validators.isStrong,
      validators.etag == resume.validators.etag, length != told
    else { return .content(Body(total: length, end: length, validators: validators)) }
    return length == nil ? .content(Body(total: told, validators: validators)) : restart(question)
  }

  /// A part comes, perhaps the one that was asked for.
  private static func part(
    _ head: AnswerHead, _ question: Question
  ) throws(MalformedAnswer) -> Decision {
    guard let resume = question.resume else {
      throw MalformedAnswer("it is a part (206), which was not asked for")
    }
    if let outcome = try refusal(of: head, question) { return .end(outcome) }
    guard head.mediaType != "multipart/byteranges",
      case .part(let first, let last, let total?)? = head.text("content-range").flatMap(ContentRange.init),
      first == resume.first, resume.isSame(head), total == question.expectedSize ?? resume.total ?? total
    else { return restart(question) }
    if let length = try head.contentLength(), length != last - first + 1 {
      throw MalformedAnswer("Content-Length and Content-Range do not agree")
    }
    if total > question.limit { return .end(tooLarge(total, question)) }
    return .content(
      Body(
        first: first, overlap: resume.overlap, total: total, end: last + 1,
        validators: resume.validators))
  }

  private static func restart(_ question: Question) -> Decision {
    question.hasRestarted
      ? .end(.retry("changed", "\(question.link.host): the content changed again while it was fetched"))
      : .restart
  }

  /// Why no body of this answer is wanted; `nil`: it may be.
  private static func refusal(of head: AnswerHead, _ question: Question) throws(MalformedAnswer) -> Outcome? {
    let host = question.link.host
    if let declared = question.declaredType?.lowercased(), !question.knowsHash, !isHTML(declared),
      let type = head.mediaType, isHTML(type)
    {
      return .retry(
        "captive-portal",
        "\(host) answered with a page (\(type)) where other content was expected: perhaps the login page of a network"
      )
    }
    if try head.transferEncoding().isEncoded || head.isContentEncoded {
      return .fail("encoded", "\(host) sent the content encoded, though it was asked for as it is")
    }
    return nil
  }

  private static func isHTML(_ type: String) -> Bool {
    type.hasPrefix("text/html") || type.hasPrefix("application/xhtml+xml")
  }

  static func tooLarge(_ found: Int64?, _ question: Question) -> Outcome {
    .reject(
      "too-large-to-fetch",
      "\(found.map { "\($0) bytes" } ?? "there are more bytes"), and \(question.limit) are allowed")
  }

  static func sizeMismatch(_ found: Int64, _ expected: Int64, _ question: Question) -> Outcome {
    .fail("size-mismatch", "\(question.link.host) sent \(found) bytes, and \(expected) were expected")
  }
}

extension MalformedAnswer {
  func outcome(of host: String) -> Outcome {
    .retry(MalformedAnswer.code, "the answer of \(host) breaks the rules of HTTP: \(reason)")
  }
}
