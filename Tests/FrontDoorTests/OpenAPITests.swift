import Foundation
import LedgerPort
import Pipeline
import Testing

@testable import FrontDoor

struct OpenAPITests {
  private typealias Object = [String: Any]

  private static func description() throws -> Object {
    var rules = ServeRules()
    rules.publicURL = "https://files.example.com/x"
    (rules.messages, rules.accounts) = (true, .everyone)
    let text = OpenAPI.text(version: "1", rules)
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? Object)
  }

  @Test func itHasEachRouteWithItsParameters() throws {
    let paths = try #require(try Self.description()["paths"] as? [String: Object])
    #expect(Set(paths.keys) == Set(Route.allCases.map(\.path)).union(["/livez"]))
    for route in Route.allCases {
      let operation = try #require(paths[route.path]?[route.method.lowercased()] as? Object, "\(route)")
      #expect(operation["operationId"] as? String == route.rawValue)
      let parameters = operation["parameters"] as? [Object] ?? []
      let names = parameters.filter { $0["in"] as? String == "query" }.compactMap { $0["name"] as? String }
      #expect(names == route.parameters.map(\.name))
      let answers = try #require(operation["responses"] as? Object)
      #expect(answers.count >= 2 && answers["default"] != nil)
      #expect((operation["security"] as? [Any])?.isEmpty == (route.parties.contains(.nobody) ? true : nil))
    }
  }

  /// A client that is made from it can say what a link belongs to.
  @Test func aLinkHasAllItsFields() throws {
    let paths = try #require(try Self.description()["paths"] as? [String: Object])
    let body = try #require((paths["/v1/fetch"]?["post"] as? Object)?["requestBody"] as? Object)
    let content = try #require(body["content"] as? [String: Object])
    let schema = try #require(content["application/json"]?["schema"] as? Object)
    let fields = try #require(schema["properties"] as? [String: Object])
    #expect(Set(fields.keys) == Set(IntakeItem.keys).subtracting(["path"]))
    #expect(fields["participants"]?["type"] as? String == "array")
    #expect(fields["size"]?["type"] as? String == "integer")
    #expect(fields["fileName"]?["type"] as? String == "string")
  }

  /// A client that is made from it sends a list with commas, of what may be a code.
  @Test func codesAreAListWithCommas() throws {
    let paths = try #require(try Self.description()["paths"] as? [String: Object])
    for path in ["/v1/attachments", "/v1/report", "/v1/deliveries"] {
      let operation = try #require(paths[path]?["get"] as? Object)
      let parameters = try #require(operation["parameters"] as? [Object])
      let code = try #require(parameters.first { $0["name"] as? String == "code" })
      #expect(code["style"] as? String == "form" && code["explode"] as? Bool == false)
      let schema = try #require(code["schema"] as? Object)
      #expect(schema["type"] as? String == "array" && schema["minItems"] as? Int == 1)
      let text = try #require((schema["items"] as? Object)?["pattern"] as? String)
      let pattern = try Regex(text)
      for word in ["too-large", "a", "!", "~", "+.-"] { #expect(word.wholeMatch(of: pattern) != nil) }
      for word in ["", "a,b", "a b", "é", "\u{7F}"] { #expect(word.wholeMatch(of: pattern) == nil) }
    }
  }

  @Test func theDraftIsDescribedWhereItIsSpoken() throws {
    for isSpoken in [false, true] {
      var rules = ServeRules()
      rules.uploadDraft = isSpoken
      let text = OpenAPI.text(version: "1", rules)
      let paths = try #require(
        (try JSONSerialization.jsonObject(with: Data(text.utf8)) as? Object)?["paths"] as? [String: Object])
      let post = try #require(paths["/v1/attachments"]?["post"] as? Object)
      let names = (post["parameters"] as? [Object] ?? []).compactMap { $0["name"] as? String }
      #expect(names.contains("Upload-Complete") == isSpoken)
      let patch = try #require(paths["/v1/uploads/{id}"]?["patch"] as? Object)
      let content = (patch["requestBody"] as? Object)?["content"] as? Object ?? [:]
      #expect((content[UploadDraft.contentType] != nil) == isSpoken && content[Tus.contentType] != nil)
    }
  }

  @Test func whatItRefersToIsThere() throws {
    let description = try Self.description()
    let components = try #require(description["components"] as? [String: Object])
    let text = OpenAPI.text(version: "1", ServeRules())
    let names = text.matches(of: /"#\/components\/(\w+)\/(\w+)"/).map { (String($0.1), String($0.2)) }
    #expect(names.count > 20)
    for (kind, name) in names { #expect(components[kind]?[name] != nil, "\(kind)/\(name)") }
  }
}
