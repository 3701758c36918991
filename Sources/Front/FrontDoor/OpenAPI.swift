import LedgerPort
import Pipeline
import Platform

/// The description of the API (OpenAPI 3.1.0), made from the table of routes.
enum OpenAPI {
  static func text(version: String, _ rules: ServeRules) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("openapi", "3.1.0")
      writer.key("info")
      writer.object { writer in
        writer.member("title", "Sluice")
        writer.member("version", version)
        writer.member(
          "description",
          "Attachments: sent, fetched, checked by a pipeline, and given to those who take part.")
      }
      writer.key("servers")
      writer.array { writer in writer.object { $0.member("url", rules.publicURL ?? "/") } }
      writer.key("security")
      writer.raw(#"[{"token":[]}]"#)
      writer.key("paths")
      writer.object { paths(rules, to: &$0) }
      writer.key("components")
      writer.raw(components)
    }
    return writer.text
  }

  private static func paths(_ rules: ServeRules, to writer: inout JSONWriter) {
    writer.key("/livez")
    writer.raw(
      #"{"get":{"operationId":"live","summary":"whether the server's process lives","security":[],"#
        + #""responses":{"200":{"description":"it does","content":{"text/plain":{"schema":{"type":"string"}}}}}}}"#
    )
    let routes = Route.allCases.filter { $0.facts.needs.isMet(by: rules) }
    var paths: [String] = []
    for route in routes where !paths.contains(route.path) { paths.append(route.path) }
    for path in paths {
      writer.key(path)
      writer.object { writer in
        let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
        if !names.isEmpty {
          writer.key("parameters")
          writer.array { writer in
            for name in names {
              writer.raw(
                #"{"name":"\#(name)","in":"path","required":true,"schema":{"type":"string","minLength":1}}"#)
            }
          }
        }
        for route in routes where route.path == path {
          writer.key(route.method.lowercased())
          writer.object { operation(route, rules.uploadDraft, to: &$0) }
        }
      }
    }
  }

  /// - Parameter speaksDraft: the IETF's draft of resumable uploads, beside tus.
  private static func operation(_ route: Route, _ speaksDraft: Bool, to writer: inout JSONWriter) {
    writer.member("operationId", route.rawValue)
    writer.member("summary", route.summary)
    if route.parties.contains(.nobody) {
      writer.key("security")
      writer.raw("[]")
    }
    let headers = route.facts.headers(speaksDraft)
    if !route.parameters.isEmpty || !headers.isEmpty {
      writer.key("parameters")
      writer.array { writer in
        for parameter in route.parameters {
          writer.object { writer in
            writer.member("name", parameter.name)
            writer.member("in", "query")
            writer.member("description", parameter.help)
            if parameter.kind.isList {
              writer.member("style", "form")
              writer.member("explode", false)
            }
            writer.key("schema")
            writer.raw(schema(parameter.kind))
          }
        }
        for header in headers { writer.raw(header) }
      }
    }
    if let body = route.facts.body(speaksDraft) {
      writer.key("requestBody")
      writer.raw(body)
    }
    writer.key("responses")
    writer.object { writer in
      for (status, answer) in route.facts.answers {
        writer.key("\(status)")
        writer.raw(answer)
      }
      writer.key("default")
      writer.raw(##"{"$ref":"#/components/responses/Problem"}"##)
    }
  }

  private static func schema(_ kind: Route.Parameter.Kind) -> String {
    switch kind {
    case .text: #"{"type":"string"}"#
    case .number(let range):
      #"{"type":"integer","minimum":\#(range.lowerBound),"maximum":\#(range.upperBound)}"#
    case .choice(let words): #"{"type":"string","enum":\#(JSONWriter.array(of: words))}"#
    case .choices(let words):
      #"{"type":"array","items":{"type":"string","enum":\#(JSONWriter.array(of: words))}}"#
    // Printable ASCII without spaces, and without the comma that is between them.
    case .codes: #"{"type":"array","minItems":1,"items":{"type":"string","pattern":"^[!-+\\--~]+$"}}"#
    }
  }

  // MARK: Schemas

  /// A schema of an object: the members that are always there, and the others.
  static func object(_ required: [(String, String)], _ others: [(String, String)] = []) -> String {
    let members = (required + others).map { #""\#($0)":\#($1)"# }.joined(separator: ",")
    return
      #"{"type":"object","required":\#(JSONWriter.array(of: required.map(\.0))),"properties":{\#(members)}}"#
  }

  static let text = #"{"type":"string"}"#
  static let optionalText = #"{"type":["string","null"]}"#
  static let number = #"{"type":"integer"}"#
  static let optionalNumber = #"{"type":["integer","null"]}"#
  static let time = #"{"type":"string","format":"date-time"}"#
  static let optionalTime = #"{"type":["string","null"],"format":"date-time"}"#

  static func oneOf<Case: RawRepresentable<String>>(_ cases: [Case]) -> String {
    #"{"type":"string","enum":\#(JSONWriter.array(of: cases.map(\.rawValue)))}"#
  }

  static let texts = #"{"type":"array","items":{"type":"string"}}"#

  private static var schemas: [(String, String)] {
    let reason = ##"{"oneOf":[{"type":"null"},{"$ref":"#/components/schemas/Reason"}]}"##
    let step = object([("stage", text), ("verdict", text), ("milliseconds", #"{"type":"number"}"#)])
    let attempt = object([
      ("number", number), ("stage", text), ("verdict", text), ("code", optionalText),
      ("message", optionalText), ("milliseconds", #"{"type":"number"}"#), ("recordedAt", time),
    ])
    let derived = object([
      ("name", text), ("stage", text), ("mediaType", text), ("sizeBytes", number), ("sha256", text),
      ("url", text),
    ])
    let place = object([("state", text), ("dueAt", optionalTime), ("attempts", number)])
    let pause = object([
      ("cause", text), ("code", text), ("reason", text), ("by", optionalText), ("since", time),
    ])
    return [
      ("Problem", object([("status", number), ("code", text), ("detail", text)], [("remedy", text)])),
      ("Reason", object([("stage", text), ("code", text)], [("message", optionalText)])),
      (
        "Attachment",
        object(
          [
            ("id", text), ("conversationId", text), ("messageId", optionalText), ("senderId", text),
            ("fileName", text), ("status", oneOf(Status.allCases)), ("mediaType", optionalText),
            ("sizeBytes", optionalNumber), ("sha256", optionalText), ("url", optionalText),
            ("reason", reason), ("metadata", #"{"type":"object"}"#),
            ("stages", #"{"type":"array","items":\#(step)}"#),
          ],
          [
            ("source", text), ("parentId", text), ("derived", #"{"type":"array","items":\#(derived)}"#),
            ("createdAt", time), ("finishedAt", optionalTime),
            ("attempts", #"{"type":"array","items":\#(attempt)}"#),
            (
              "transfer",
              object([
                ("state", oneOf(TransferRecord.State.allCases)), ("bytes", number), ("total", optionalNumber),
              ])
            ),
            ("queue", #"{"oneOf":[{"type":"null"},\#(place)]}"#),
          ])
      ),
      (
        "Transfer",
        object([
          ("key", number), ("attachmentId", text), ("fileName", text), ("link", text),
          ("state", oneOf(TransferRecord.State.allCases)), ("held", #"{"type":"boolean"}"#),
          ("bytes", number), ("total", optionalNumber), ("attachments", number), ("attempts", number),
          ("priority", number), ("nextDueMilliseconds", optionalNumber), ("contentType", optionalText),
          ("code", optionalText), ("message", optionalText),
        ])
      ),
      (
        "Upload",
        object(
          [
            ("id", text), ("url", text), ("fileName", optionalText), ("conversationId", optionalText),
            ("offset", number), ("length", optionalNumber), ("createdAt", time), ("expiresAt", time),
          ], [("owner", text), ("role", text)])
      ),
      (
        "Lane",
        object([
          ("name", text), ("due", number), ("scheduled", number), ("leased", number),
          ("nextAt", optionalTime), ("paused", #"{"oneOf":[{"type":"null"},\#(pause)]}"#),
        ])
      ),
      (
        "Delivery",
        object(
          [
            ("id", text), ("attachmentId", text), ("type", text), ("channel", text), ("recipient", text),
            ("status", oneOf(DeliveryStatus.allCases)), ("code", optionalText), ("reason", optionalText),
            ("finishedAt", optionalTime),
          ], [("attempts", number), ("nextAt", optionalTime)])
      ),
      (
        "Report",
        object([
          ("madeAt", time), ("count", number), ("sizeBytes", number), ("firstAt", optionalTime),
          ("lastAt", optionalTime), ("outcomes", #"{"type":"object"}"#), ("reasons", #"{"type":"array"}"#),
          ("types", #"{"type":"array"}"#), ("stages", #"{"type":"array"}"#),
          ("intakeToEnd", #"{"type":"object"}"#), ("duplicates", #"{"type":"object"}"#),
          ("largest", #"{"type":"array"}"#), ("slowest", #"{"type":"array"}"#),
          ("intake", #"{"type":"object"}"#), ("more", #"{"type":"boolean"}"#),
        ])
      ),
      (
        "Judgement",
        object([
          ("verdict", oneOf(CheckVerdict.allCases)), ("mediaType", optionalText),
          ("sizeBytes", optionalNumber), ("sha256", optionalText), ("reason", reason),
          ("metadata", #"{"type":"object"}"#), ("stages", #"{"type":"array","items":\#(step)}"#),
        ])
      ),
      (
        "Conversation",
        object(
          conversation,
          ownSettings + [("last", ##"{"oneOf":[{"type":"null"},{"$ref":"#/components/schemas/Message"}]}"##)])
      ),
      ("Message", object(message, messageExtras)),
      (
        "Messages",
        object([
          ("messages", ##"{"type":"array","items":{"$ref":"#/components/schemas/Message"}}"##),
          ("more", #"{"type":"boolean"}"#),
        ])
      ),
      (
        "Presence",
        object([
          (
            "users",
            #"{"type":"array","items":"#
              + object([("user", text), ("online", #"{"type":"boolean"}"#), ("lastSeenAt", optionalTime)])
              + "}"
          )
        ])
      ),
      (
        "Found",
        object([
          ("hits", ##"{"type":"array","items":{"$ref":"#/components/schemas/Hit"}}"##),
          ("next", optionalText),
        ])
      ),
      (
        "Hit",
        object([
          ("message", ##"{"$ref":"#/components/schemas/Message"}"##),
          (
            "excerpts",
            #"{"type":"array","items":"#
              + object([
                ("field", oneOf(SearchHit.Field.allCases)),
                (
                  "parts",
                  #"{"type":"array","items":"#
                    + object([("text", text), ("isMatch", #"{"type":"boolean"}"#)]) + "}"
                ),
              ]) + "}"
          ),
        ])
      ),
      ("Receipts", object([("of", texts), ("delivered", texts), ("read", texts)])),
      (
        "Sync",
        object([
          ("position", text), ("more", #"{"type":"boolean"}"#), ("isWhole", #"{"type":"boolean"}"#),
          (
            "conversations",
            #"{"type":"array","items":"#
              + object(
                conversation,
                ownSettings + [
                  ("isNew", #"{"type":"boolean"}"#),
                  ("messages", ##"{"type":"array","items":{"$ref":"#/components/schemas/Message"}}"##),
                ])
              + "}"
          ),
        ])
      ),
      ("User", object([("id", text), ("name", optionalText)], user)),
      (
        "SignedIn",
        object([
          ("token", optionalText), ("session", optionalText), ("expiresAt", optionalTime),
          ("user", ##"{"$ref":"#/components/schemas/User"}"##),
        ])
      ),
      (
        "Sessions",
        object([
          (
            "sessions",
            #"{"type":"array","items":"#
              + object([
                ("id", text), ("device", text), ("createdAt", time), ("expiresAt", time),
                ("current", #"{"type":"boolean"}"#),
              ]) + "}"
          )
        ])
      ),
      ("Users", object([("users", ##"{"type":"array","items":{"$ref":"#/components/schemas/User"}}"##)])),
      ("Queued", object([("id", text), ("status", text)])),
      ("Changed", object([("changed", #"{"type":"boolean"}"#)])),
      ("Changes", object([("changed", number), ("more", #"{"type":"boolean"}"#)])),
      ("Link", object([("url", text), ("expiresAt", time)])),
      (
        "Links",
        object([
          (
            "links",
            #"{"type":"array","items":"#
              + object([("id", text), ("url", optionalText), ("expiresAt", optionalTime)]) + "}"
          )
        ])
      ),
      ("Version", object([("version", text)])),
      ("Readiness", object([("ready", #"{"type":"boolean"}"#)])),
    ]
  }

  private static var components: String {
    let lists = [
      ("attachments", "Attachment"), ("transfers", "Transfer"), ("deliveries", "Delivery"), ("lanes", "Lane"),
      ("uploads", "Upload"), ("conversations", "Conversation"),
    ]
    .map { name, row in
      let rows = ##"{"type":"array","items":{"$ref":"#/components/schemas/\##(row)"}}"##
      return (name.prefix(1).uppercased() + name.dropFirst(), object([(name, rows), ("next", optionalText)]))
    }
    let members = (schemas + lists).map { #""\#($0)":\#($1)"# }.joined(separator: ",")
    return
      ##"{"securitySchemes":{"token":{"type":"http","scheme":"bearer"}},"responses":{"Problem":{"description":"##
      + ##""why it is not answered (RFC 9457)","content":{"application/problem+json":{"schema":"##
      + ##"{"$ref":"#/components/schemas/Problem"}},"text/plain":{"schema":{"type":"string"}}}}},"schemas":{\##(members)}}"##
  }
}
