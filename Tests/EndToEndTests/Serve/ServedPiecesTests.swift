import Foundation
import Testing

/// Derived objects and children over HTTP: with the rights of their attachment, and like a content.
struct ServedPiecesTests {
  private struct Created: Decodable { var id: String }
  private struct Record: Decodable {
    var id: String
    var fileName: String
    var parentId: String?
    var derived: [DerivedHome.Derived]?
  }
  private struct Page: Decodable { var attachments: [Record] }

  @Test func theyAreServedLikeContentsAndToNoStranger() throws {
    let home = try DerivedHome("- use: expand\n- use: derive")
    let served = try ServedHome(
      home.folder, options: ["--config", "pipeline.yaml"],
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let (ann, eve) = (try served.token("ann"), try served.token("eve"))
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: ann, body: Data(">one\n>two\n".utf8)
    ).decoded(Created.self).id
    let place = "/v1/attachments/\(id)"
    let head = "\(place)/content?derived=head"
    try Resident.wait("it is completed") { try served.ask("HEAD", head, token: ann).status == 200 }

    let whole = try served.ask("GET", head, token: ann)
    #expect(whole.text == ">one\n>two\n" && whole.fields["content-type"]?.hasPrefix("text/plain") == true)
    let tag = try #require(whole.fields["etag"])
    let constant = try served.ask("GET", "\(place)/content?derived=constant", token: ann)
    #expect(constant.text == "the same\n" && constant.fields["etag"] != tag)
    #expect(try served.ask("GET", head, token: ann, ["If-None-Match: \(tag)"]).status == 304)
    let part = try served.ask("GET", head, token: ann, ["Range: bytes=1-3"])
    #expect(part.status == 206 && part.text == "one")
    #expect(try served.ask("GET", "\(place)/content?derived=other", token: ann).status == 404)
    #expect(try served.ask("GET", "\(place)/content?derived=..%2Fhead", token: ann).status == 404)

    let record = try served.ask("GET", place, token: ann).decoded(Record.self)
    #expect(record.derived?.map(\.name) == ["constant", "head"] && record.parentId == nil)
    let children = try served.ask("GET", "/v1/attachments?parent=\(id)", token: ann).decoded(Page.self)
      .attachments
    #expect(children.map(\.fileName).sorted() == ["line-1.txt", "line-2.txt"])
    #expect(children.allSatisfy { $0.parentId == id })
    let child = try #require(children.first).id
    #expect(try served.ask("GET", "/v1/attachments/\(child)/content?derived=head", token: ann).status == 200)

    // A stranger cannot tell it from what is not there.
    let absent = try served.ask("GET", "/v1/attachments/\(id.dropLast())x/content?derived=head", token: eve)
    for path in [head, "\(place)/content?derived=other", "/v1/attachments/\(child)/content?derived=head"] {
      let theirs = try served.ask("GET", path, token: eve)
      #expect(theirs.status == 404 && theirs.body == absent.body, "\(path): \(theirs.text)")
    }
    let found = try served.ask("GET", "/v1/attachments?parent=\(id)", token: eve).decoded(Page.self)
    #expect(found.attachments.isEmpty)
    #expect(served.stop() == 0)
  }

  /// A link is good for the object that it was signed for, and for no other.
  @Test func aSignedLinkIsForOneObject() throws {
    let home = try DerivedHome("- use: derive")
    let served = try ServedHome(
      home.folder, options: ["--config", "pipeline.yaml"],
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let (ann, eve) = (try served.token("ann"), try served.token("eve"))
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: ann, body: Data("a text\n".utf8)
    ).decoded(Created.self).id
    let place = "/v1/attachments/\(id)"
    try Resident.wait("it is completed") {
      try served.ask("HEAD", "\(place)/content", token: ann).status == 200
    }
    struct Link: Decodable { var url: String }
    let answer = try served.ask("GET", "\(place)/link?derived=constant", token: ann)
    #expect(answer.status == 200, "\(answer.text)")
    let url = try answer.decoded(Link.self).url
    let path =
      url.hasPrefix("/") ? url : String(url[(url.range(of: "/v1/")?.lowerBound ?? url.startIndex)...])
    #expect(try served.ask("GET", path).text == "the same\n")
    for (old, new) in [("derived=constant", "derived=head"), ("derived=constant&", "")] {
      let changed = path.replacingOccurrences(of: old, with: new)
      #expect(changed != path)
      #expect(try [401, 403, 404].contains(served.ask("GET", changed).status), "\(changed)")
    }
    let own = try served.ask("GET", "\(place)/link", token: ann).decoded(Link.self).url
    let plain = String(own[(own.range(of: "/v1/")?.lowerBound ?? own.startIndex)...])
    #expect(try served.ask("GET", plain).text == "a text\n")
    // A proxy in front wants a password.
    let basic = ["Authorization: Basic YTpi"]
    #expect(try served.ask("GET", plain, basic).text == "a text\n")
    #expect(try served.ask("GET", "\(place)/content", basic).status == 401)
    #expect(try served.ask("GET", plain, token: "wrong").status == 401)
    #expect(try served.ask("GET", plain + "&derived=constant").text != "the same\n")
    #expect(try served.ask("GET", "\(place)/link?derived=other", token: ann).status == 404)
    #expect(try served.ask("GET", "\(place)/link?derived=constant", token: eve).status == 404)
    #expect(served.stop() == 0)
  }
}
