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
      writer.object { paths(rules.uploadDraft, to: &$0) }
      writer.key("components")
      writer.raw(components)
    }
    return writer.text
  }

  /// - Parameter speaksDraft: the IETF's draft of resumable uploads, beside tus.
  private static func paths(_ speaksDraft: Bool, to writer: inout JSONWriter) {
    writer.key("/livez")
    writer.raw(
      #"{"get":{"operationId":"live","summary":"whether the server's process lives","security":[],"#
        + #""responses":{"200":{"description":"it does","content":{"text/plain":{"schema":{"type":"string"}}}}}}}"#
    )
    var paths: [String] = []
    for route in Route.allCases where !paths.contains(route.path) { paths.append(route.path) }
    for path in paths {
      writer.key(path)
      writer.object { writer in
        if path.contains("{id}") {
          writer.key("parameters")
          writer.raw(#"[{"name":"id","in":"path","required":true,"schema":{"type":"string","minLength":1}}]"#)
        }
        for route in Route.allCases where route.path == path {
          writer.key(route.method.lowercased())
          writer.object { operation(route, speaksDraft, to: &$0) }
        }
      }
    }
  }

  private static func operation(_ route: Route, _ speaksDraft: Bool, to writer: inout JSONWriter) {
    writer.member("operationId", route.rawValue)
    writer.member("summary", route.summary)
    if route.parties.contains(.nobody) {
      writer.key("security")
      writer.raw("[]")
    }
    let headers = route.headers(speaksDraft)
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
    if let body = route.body(speaksDraft) {
      writer.key("requestBody")
      writer.raw(body)
    }
    writer.key("responses")
    writer.object { writer in
      for (status, answer) in route.answers {
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
  private static func object(_ required: [(String, String)], _ others: [(String, String)] = []) -> String {
    let members = (required + others).map { #""\#($0)":\#($1)"# }.joined(separator: ",")
    return
      #"{"type":"object","required":\#(JSONWriter.array(of: required.map(\.0))),"properties":{\#(members)}}"#
  }

  private static let text = #"{"type":"string"}"#
  private static let optionalText = #"{"type":["string","null"]}"#
  private static let number = #"{"type":"integer"}"#
  private static let optionalNumber = #"{"type":["integer","null"]}"#
  private static let time = #"{"type":"string","format":"date-time"}"#
  private static let optionalTime = #"{"type":["string","null"],"format":"date-time"}"#

  private static func oneOf<Case: RawRepresentable<String>>(_ cases: [Case]) -> String {
    #"{"type":"string","enum":\#(JSONWriter.array(of: cases.map(\.rawValue)))}"#
  }

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
      ("Queued", object([("id", text), ("status", text)])),
      ("Changed", object([("changed", #"{"type":"boolean"}"#)])),
      ("Changes", object([("changed", number), ("more", #"{"type":"boolean"}"#)])),
      ("Link", object([("url", text), ("expiresAt", time)])),
      ("Version", object([("version", text)])),
      ("Readiness", object([("ready", #"{"type":"boolean"}"#)])),
    ]
  }

  private static var components: String {
    let lists = [
      ("attachments", "Attachment"), ("transfers", "Transfer"), ("deliveries", "Delivery"), ("lanes", "Lane"),
      ("uploads", "Upload"),
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

extension Route {
  private static func answer(_ schema: String, _ description: String) -> String {
    ##"{"description":"\##(description)","content":{"application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}}}}"##
  }

  private static func answer(type: String, _ description: String) -> String {
    #"{"description":"\#(description)","content":{"\#(type)":{"schema":{"type":"string"}}}}"#
  }

  private static func empty(_ description: String) -> String { #"{"description":"\#(description)"}"# }

  /// What it answers where all is well.
  fileprivate var answers: [(Int, String)] {
    switch self {
    case .ready: [(200, Self.answer("Readiness", "it takes work"))]
    case .version: [(200, Self.answer("Version", "this one"))]
    case .openapi:
      [(200, #"{"description":"this","content":{"application/json":{"schema":{"type":"object"}}}}"#)]
    case .metrics: [(200, Self.answer(type: "text/plain", "in the text format of Prometheus"))]
    case .report: [(200, Self.answer("Report", "the figures"))]
    case .events: [(200, Self.answer(type: "text/event-stream", "Server-Sent Events, without an end"))]
    case .attachments: [(200, Self.answer("Attachments", "a page of them"))]
    case .postAttachment: [(201, Self.answer("Queued", "it is queued"))]
    case .check: [(200, Self.answer("Judgement", "what the pipeline says of it"))]
    case .attachment: [(200, Self.answer("Attachment", "it"))]
    case .content:
      [
        (200, Self.content("all of it")), (206, Self.content("a part of it")),
        (304, Self.empty("the client has it")),
      ]
    case .link: [(200, Self.answer("Link", "it"))]
    case .retryAttachment, .hastenAttachment, .deleteAttachment:
      [(200, Self.answer("Changed", "whether there was anything to change"))]
    case .uploadOptions: [(204, Self.empty("in headers"))]
    case .uploads: [(200, Self.answer("Uploads", "a page of them"))]
    case .createUpload: [(201, Self.empty("its place is in Location"))]
    case .uploadState: [(200, Self.empty("in headers"))]
    case .appendToUpload: [(204, Self.empty("how much is there is in Upload-Offset"))]
    case .endUpload: [(204, Self.empty("it is given up"))]
    case .fetch: [(200, Self.content("what came")), (202, Self.answer("Queued", "it is queued"))]
    case .transfers: [(200, Self.answer("Transfers", "a page of them"))]
    case .lanes: [(200, Self.answer("Lanes", "all of them"))]
    case .deliveries: [(200, Self.answer("Deliveries", "a page of them"))]
    case .pauseLane, .resumeLane, .resetLane, .retryDelivery:
      [(200, Self.answer("Changes", "how much was changed, and whether there is more"))]
    }
  }

  private static func draftBody(_ isWanted: Bool) -> String {
    isWanted ? #","\#(UploadDraft.contentType)":{"schema":{}}"# : ""
  }

  private static func content(_ description: String) -> String {
    #"{"description":"\#(description)","content":{"*/*":{"schema":{}}}}"#
  }

  /// Beside the token's.
  fileprivate func headers(_ speaksDraft: Bool) -> [String] {
    let isOfTus = self == .createUpload || !speaksDraft
    let version =
      #"{"name":"Tus-Resumable","in":"header","required":\#(isOfTus),"schema":{"type":"string"},"example":"1.0.0"}"#
    func header(_ name: String, _ schema: String, isRequired: Bool = false) -> String {
      #"{"name":"\#(name)","in":"header","required":\#(isRequired),"schema":\#(schema)}"#
    }
    let bytes = #"{"type":"integer","minimum":0}"#
    let versions = UploadDraft.versions
    let draft =
      speaksDraft
      ? [
        header("Upload-Complete", #"{"enum":["?0","?1"]}"#),
        header(
          "Upload-Draft-Interop-Version",
          #"{"type":"integer","minimum":\#(versions.lowerBound),"maximum":\#(versions.upperBound)}"#),
      ] : []
    let digests = ["Content-Digest", "Repr-Digest"].map { header($0, #"{"type":"string"}"#) }
    switch self {
    case .check: return digests
    case .postAttachment: return digests + (speaksDraft ? draft + [header("Upload-Length", bytes)] : [])
    case .createUpload:
      return [
        version, header("Upload-Length", bytes), header("Upload-Defer-Length", #"{"const":1}"#),
        header("Upload-Metadata", #"{"type":"string"}"#), header("Upload-Concat", #"{"type":"string"}"#),
        header("Upload-Checksum", #"{"type":"string"}"#),
      ] + digests
    case .appendToUpload:
      return [
        version, header("Upload-Offset", bytes, isRequired: true), header("Upload-Length", bytes),
        header("Upload-Checksum", #"{"type":"string"}"#),
      ] + digests + draft
    case .uploadState, .endUpload: return [version] + draft.suffix(1)
    case .events: return [header("Last-Event-ID", #"{"type":"string"}"#)]
    case .fetch: return [header("Prefer", #"{"enum":["respond-async"]}"#)]
    case .content:
      return ["Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"]
        .map {
          header($0, #"{"type":"string"}"#)
        }
    default: return []
    }
  }

  fileprivate func body(_ speaksDraft: Bool) -> String? {
    switch self {
    case .postAttachment, .check:
      #"{"description":"The content, which is empty without a body.","content":{"#
        + #""application/octet-stream":{"schema":{}},"multipart/form-data":{"schema":"#
        + #"{"type":"object","required":["file"],"properties":{"file":{"type":"string","format":"binary"}}}}}}"#
    case .createUpload: #"{"content":{"\#(Tus.contentType)":{"schema":{}}}}"#
    case .appendToUpload:
      #"{"required":true,"content":{"\#(Tus.contentType)":{"schema":{}}\#(Self.draftBody(speaksDraft))}}"#
    case .fetch:
      #"{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["url"],"#
        + #""additionalProperties":false,"properties":{\#(LinkSchema.properties)}}}}}"#
    default: nil
    }
  }
}
