import Outbound
import StageKit

@testable import HTTPSource

extension FuzzTarget {
  /// What a server says: its head line by line, then the body, as Base64 and as JSON. The first byte chooses what was asked.
  static let http = FuzzTarget(name: "http") { bytes in
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    try checkHead(rest, choice: first)
    try checkFileName(rest)
    try checkRange(text(rest))
    try checkBase64(rest, piece: Int(first) + 1)
    try checkJSON(rest, piece: Int(first) + 1)
    _ = Validators.isStrong(text(rest))
    if let wait = RetryAfter.milliseconds(text(rest), now: 1_700_000_000) {
      try demand((0...86_400_000).contains(wait), "a wait of \(wait) ms")
    }
  }

  private static func checkHead(_ bytes: [UInt8], choice: UInt8) throws {
    var reader = HeadReader()
    var place = bytes.startIndex
    while place < bytes.endIndex {
      let end = bytes[place...].firstIndex(of: 10).map { $0 + 1 } ?? bytes.endIndex
      let head: AnswerHead?
      do throws(MalformedAnswer) {
        head = try read(Array(bytes[place..<end]), &reader)
      } catch {
        return try demand(!error.reason.isEmpty, "no reason")
      }
      if let head { return try checkDecision(head, choice) }
      place = end
    }
  }

  private static func read(_ line: [UInt8], _ reader: inout HeadReader) throws(MalformedAnswer) -> AnswerHead?
  {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: line.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: line)
    return try reader.read(UnsafeRawBufferPointer(copy))
  }

  private static func checkDecision(_ head: AnswerHead, _ choice: UInt8) throws {
    var question = Question(link: try WebURL("https://files.example/path?query"), limit: 1000)
    question.method = choice & 1 == 0 ? .get : .post
    if choice & 2 != 0 { question.expectedSize = 500 }
    question.knowsHash = choice & 4 != 0
    let tag = choice & 8 == 0 ? Validators() : Validators(etag: "\"a\"")
    if question.method == .get {
      question.resume = ResumePlan.make(
        held: Int64(choice & 0xF0), tag, expectedSize: question.expectedSize, knowsHash: question.knowsHash)
    }
    switch Decision(head, to: question, now: 1_700_000_000) {
    case .content(let body):
      try demand([200, 201, 203, 206].contains(head.status), "content with \(head.status)")
      try demand(body.total ?? 0 <= question.limit, "\(body.total ?? 0) bytes")
      try demand((body.first == 0 || body.first == question.resume?.first), "a part from \(body.first)")
      try demand(head.status == 206 || body.first == 0 && body.overlap == 0, "a part with \(head.status)")
      if let expected = question.expectedSize, let total = body.total {
        try demand(total == expected, "\(total) bytes of \(expected)")
      }
      // A weak tag is kept, for another one shows another file; it proves nothing.
      let condition = body.validators.condition
      try demand(
        condition.map { $0 == body.validators.modified || Validators.isStrong($0) } ?? true,
        "a weak tag proves that the file is the same")
    case .redirect(let status, let target):
      try demand(300..<400 ~= status && !target.isEmpty, "a redirect with \(status)")
      let next: Question
      do throws(Outcome) {
        next = try Redirect.follow(
          question, status: status, to: target, admission: Admission(), isPublic: true)
      } catch {
        return try demand(!error.message.contains("query"), "\(error.message)")
      }
      try checkLink(next.link)
    case .restart: try demand(question.resume != nil, "asked again though nothing was held")
    case .end(let outcome):
      try demand(
        (0...86_400_000).contains(outcome.retryAfter ?? 0), "a wait of \(outcome.retryAfter ?? 0) ms")
      try demand(!outcome.message.contains("query"), "\(outcome.message)")
    }
  }

  private static func checkLink(_ link: WebURL) throws(Violation) {
    try demand(link.isSecure, "from https to http: \(link.text)")
    if let address = IPAddress(link.host) { try demand(address.isGlobal, "a redirect to \(address)") }
  }

  private static func checkFileName(_ bytes: [UInt8]) throws(Violation) {
    guard let name = FileName.read(bytes) else { return }
    try demand((1...255).contains(name.utf8.count), "a name of \(name.utf8.count) bytes")
    try demand(
      !name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == 0x2F || $0 == 0x5C } && name != "."
        && name != "..",
      "the name \(name.debugDescription)")
  }

  private static func checkRange(_ text: String) throws(Violation) {
    if case .part(let first, let last, let total)? = ContentRange(text) {
      try demand(0 <= first && first <= last && last < total ?? .max, "\(text)")
    }
  }

  /// In pieces and at once, the same comes out.
  private static func checkBase64(_ bytes: [UInt8], piece: Int) throws(Violation) {
    let whole = base64(bytes, piece: max(bytes.count, 1))
    try demand(whole == base64(bytes, piece: piece), "pieces of \(piece) bytes decode to something else")
    guard let whole else { return }
    let digits = bytes.count { $0 != 10 && $0 != 13 }
    let padding = bytes.count { $0 == UInt8(ascii: "=") }
    try demand(
      whole.count == digits / 4 * 3 - padding && padding <= 2, "\(digits) digits, \(whole.count) bytes")
  }

  private static func base64(_ bytes: [UInt8], piece: Int) -> [UInt8]? {
    var decoder = Base64Decoder()
    return pieces(bytes, piece, room: Base64Decoder.room(for: piece) + 3) { piece, room throws in
      try decoder.decode(piece, into: room)
    } finish: {
      try decoder.finish()
    }
  }

  private static func checkJSON(_ bytes: [UInt8], piece: Int) throws(Violation) {
    for pointer in [[], [Array("a".utf8)], [Array("a".utf8), Array("0".utf8)]] as [[[UInt8]]] {
      func read(_ piece: Int) -> [UInt8]? {
        var json = JSONText(at: pointer)
        return pieces(bytes, piece, room: piece) { piece, room throws in
          try json.read(piece, into: room)
        } finish: {
          try json.finish()
        }
      }
      let whole = read(max(bytes.count, 1))
      try demand(whole == read(piece), "pieces of \(piece) bytes hold something else")
      try demand(whole?.count ?? 0 <= bytes.count, "more than there is")
    }
  }

  private static func pieces(
    _ bytes: [UInt8], _ piece: Int, room count: Int,
    _ take: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) throws -> Int, finish: () throws -> Void
  ) -> [UInt8]? {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { room.deallocate() }
    var out: [UInt8] = []
    do {
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let count = try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { try take($0, room) }
        out += room[..<count]
      }
      try finish()
    } catch {
      return nil
    }
    return out
  }
}
