import FrontWire
import LedgerPort
import Platform

/// Why a request is not answered as was wished (RFC 9457).
struct Problem: Error {
  var status: Int
  /// For programs: stays as it is.
  var code: String
  /// For people: what is wrong, as a sentence without its full stop.
  var detail: String
  /// What to do next.
  var remedy: String?
  /// A URI that names what is wrong where a standard has one; `nil`: the code says it alone.
  var type: String?
  /// Numbers that the standard wants to have told.
  var numbers: [(name: String, value: Int64)] = []
  /// More fields of the answer.
  var fields: [FrontRequest.Pair] = []

  init(
    _ status: Int, _ code: String, _ detail: String, remedy: String? = nil,
    fields: [FrontRequest.Pair] = []
  ) {
    (self.status, self.code, self.detail) = (status, code, detail)
    (self.remedy, self.fields) = (remedy, fields)
  }

  var reply: FrontReply {
    var writer = JSONWriter()
    writer.object { writer in
      if let type { writer.member("type", type) }
      writer.member("status", Int64(status))
      writer.member("code", code)
      writer.member("detail", detail)
      if let remedy { writer.member("remedy", remedy) }
      for number in numbers { writer.member(number.name, number.value) }
    }
    return FrontReply(
      status,
      fields + [.init("Content-Type", "application/problem+json"), .init("Cache-Control", "no-store")],
      .bytes(Array((writer.text + "\n").utf8)))
  }

  // MARK: Those that are told in several places

  /// The same for what is not there and for what is not the asker's to know of.
  static let notFound = Problem(404, "not-found", "there is nothing here that this token may see")

  static let unauthorized = Problem(
    401, "unauthorized", "this needs a token that is known, not expired and not revoked",
    remedy: "send 'Authorization: Bearer TOKEN'; `sluice tokens add NAME` makes one",
    fields: [.init("WWW-Authenticate", "Bearer realm=\"sluice\"")])

  /// A token came along that opens nothing (RFC 6750, 3.1).
  ///
  /// - Parameter reason: without double quotes.
  static func refused(_ reason: String) -> Problem {
    Problem(
      401, "unauthorized", reason, remedy: "send 'Authorization: Bearer TOKEN' with a token that is valid",
      fields: [
        .init(
          "WWW-Authenticate",
          "Bearer realm=\"sluice\", error=\"invalid_token\", error_description=\"\(reason)\"")
      ])
  }

  static let forbidden = Problem(403, "forbidden", "this token may see this, and not change it")

  static func noSuchParameter(_ name: String, _ route: Route) -> Problem {
    let names = route.parameters.map(\.name).joined(separator: ", ")
    return Problem(
      400, "no-such-parameter", "there is no parameter '\(name)' here",
      remedy: names.isEmpty ? "leave it out; this path has none" : "those are \(names)")
  }

  static let manyChecks = Problem(
    429, "too-many-checks", "as many contents are judged at once as may be",
    remedy: "wait for those that are under way",
    fields: [.init("Retry-After", "1")])

  static let manySearches = Problem(
    429, "too-many-searches", "as many searches of yours wait as may", remedy: "wait for their answers",
    fields: [.init("Retry-After", "1")])

  static let busySearching = Problem(
    503, "busy", "more people search than can be answered at the moment", remedy: "try again in some seconds",
    fields: [.init("Retry-After", "5")])

  static let prepared = Problem(
    403, "forbidden", "a service begins uploads here, and a user goes on with them",
    remedy: "let the product's backend begin it, with 'senderId' in its metadata")

  static let owned = Problem(
    403, "forbidden", "a service says who takes part in conversations here",
    remedy: "let the product's backend do it")

  static let operatorsOnly = Problem(
    403, "forbidden", "this is for those who operate the server",
    remedy: "use a token that was made with `sluice tokens add NAME --role admin`")

  /// Why it was not taken in. Whose a message is that is not its own is none of a user's business.
  static func refused(_ report: IntakeReport, _ role: AccessToken.Role) -> Problem {
    let problem = report.problems.first
    if role != .user, let conflict = problem.flatMap(conflict) { return conflict }
    let reason = role == .user ? problem?.kind ?? problem?.message : problem?.message
    return Problem(422, "refused", reason ?? "it cannot be taken in")
  }

  /// What is named of a message differs from what is on record of it; `nil`: the problem is another.
  static func conflict(_ problem: IntakeProblem) -> Problem? {
    switch problem.kind {
    case IntakeProblem.otherSender:
      Problem(
        409, "other-sender", "its message is on record, and from another sender",
        remedy: "name that sender, or give it another 'messageId'")
    case IntakeProblem.otherParticipants:
      Problem(
        409, "other-participants", "its message is on record, and other participants take part in it",
        remedy: "leave 'participants' out, or give it another 'messageId'")
    default: nil
    }
  }

  static func tooManyUploads(_ limit: Int) -> Problem {
    Problem(
      429, "too-many-uploads", "there are \(limit) uploads of this token's that are not whole",
      remedy: "'GET /v1/uploads' lists them: go on with one, or give it up with DELETE")
  }

  static func longBody(_ limit: Int64) -> Problem {
    Problem(413, "too-large", "the body of this request has at most \(limit >> 10) KiB")
  }

  static let busy = Problem(
    503, "busy", "more people sign in than can be answered at the moment",
    remedy: "try again in some seconds",
    fields: [.init("Retry-After", "5")])

  static let away = Problem(
    503, "away", "the ledger cannot be reached at the moment", remedy: "try again",
    fields: [.init("Retry-After", "1")])
}
