import Foundation
import Testing

/// People who sign up, in and out.
struct AccountTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func serve(_ rules: String = "messages: true, accounts: everyone") throws -> ServedHome {
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: { \(rules) }\n")
    return try ServedHome(folder, options: ["--config", "pipeline.yaml"])
  }

  private func ask(
    _ served: ServedHome, _ method: String, _ path: String, _ body: String? = nil, token: String? = nil,
    with more: [String] = []
  ) throws -> (status: Int, json: JSON, cookie: String) {
    let fields = (body == nil ? [] : ["Content-Type: application/json"]) + more
    let answer = try served.ask(method, path, token: token, fields, body: body.map { Data($0.utf8) })
    return (answer.status, (try? JSON(answer.text)) ?? .null, answer.fields["set-cookie"] ?? "")
  }

  private func sluice(_ served: ServedHome, _ words: [String], input: String = "") throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(words + ["--home", served.home], in: folder, input: input)
  }

  @Test func aPersonSignsUpInAndOut() throws {
    var served = try serve()
    let ann = #"{"email":"ann@example.com","password":"correct horse","device":"laptop"}"#
    let made = try ask(served, "POST", "/v1/users", ann)
    let token = try #require(made.json["token"].text)
    let id = try #require(made.json["user"]["id"].text)
    #expect(made.status == 201 && made.json["user"]["name"].text == "ann")
    #expect(try ask(served, "GET", "/v1/me", token: token).json["email"].text == "ann@example.com")
    for (body, status, code) in [
      (ann, 409, "email-taken"), (#"{"email":"ann","password":"correct horse"}"#, 400, "email-invalid"),
      (#"{"email":"b@example.com","password":"1234567"}"#, 400, "password-weak"),
    ] {
      let answer = try ask(served, "POST", "/v1/users", body)
      #expect(answer.status == status && answer.json["code"].text == code)
    }
    let wrong = try ask(
      served, "POST", "/v1/sessions", #"{"email":"ann@example.com","password":"wrong one"}"#)
    let unknown = try ask(
      served, "POST", "/v1/sessions", #"{"email":"eve@example.com","password":"wrong one"}"#)
    #expect(wrong.status == 401 && wrong.json["code"].text == "wrong-credentials")
    #expect(wrong.json == unknown.json)

    // A session is there after the next start, and no byte of its token is on the disk.
    #expect(served.stop() == 0)
    for name in ["sluice.db", "sluice.db-wal"] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(served.home)/\(name)"))
      #expect(bytes.range(of: Data(token.utf8)) == nil && bytes.range(of: Data("correct horse".utf8)) == nil)
    }
    served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    #expect(try ask(served, "GET", "/v1/me", token: token).json["id"].text == id)
    let second = try ask(
      served, "POST", "/v1/sessions", #"{"email":"ANN@example.com","password":"correct horse"}"#)
    let other = try #require(second.json["token"].text)
    let sessions = try ask(served, "GET", "/v1/sessions", token: other).json["sessions"].elements
    #expect(sessions.count == 2 && sessions.contains { $0["device"].text == "laptop" })
    #expect(try ask(served, "DELETE", "/v1/sessions/current", token: other).status == 204)
    #expect(try ask(served, "GET", "/v1/me", token: other).status == 401)
    #expect(try ask(served, "GET", "/v1/me", token: token).status == 200)
    #expect(try ask(served, "DELETE", "/v1/sessions/all", token: token).status == 204)
    #expect(try ask(served, "GET", "/v1/me", token: token).status == 401)
  }

  @Test func aPageStaysSignedInByACookie() throws {
    let served = try serve()
    let made = try ask(
      served, "POST", "/v1/users", #"{"email":"ann@example.com","password":"correct horse","cookie":true}"#)
    #expect(made.status == 201 && made.json["token"] == .null)
    #expect(made.cookie.contains("HttpOnly; SameSite=Strict"))
    let cookie = "Cookie: " + made.cookie.prefix { $0 != ";" }
    #expect(try ask(served, "GET", "/v1/me", with: [cookie]).json["name"].text == "ann")
    // A form of another site cannot send the field.
    let body = #"{"name":"Ann B."}"#
    #expect(try ask(served, "PATCH", "/v1/me", body, with: [cookie]).status == 403)
    #expect(
      try ask(served, "PATCH", "/v1/me", body, with: [cookie, "X-CSRF: 1"]).json["name"].text == "Ann B.")
    let out = try ask(served, "DELETE", "/v1/sessions/current", with: [cookie, "X-CSRF: 1"])
    #expect(out.status == 204 && out.cookie.contains("Max-Age=0"))
    #expect(try ask(served, "GET", "/v1/me", with: [cookie]).status == 401)
    // A page can sign in again after its session has ended.
    let again = try ask(
      served, "POST", "/v1/sessions", #"{"email":"ann@example.com","password":"correct horse"}"#,
      with: [cookie])
    #expect(again.status == 201)
  }

  @Test func membersSeeEachOthersNames() throws {
    let served = try serve()
    func signUp(_ name: String) throws -> (token: String, id: String) {
      let made = try ask(
        served, "POST", "/v1/users", #"{"email":"\#(name)@example.com","password":"correct horse"}"#)
      return (try #require(made.json["token"].text), try #require(made.json["user"]["id"].text))
    }
    let (ann, ben, eve) = (try signUp("ann"), try signUp("ben"), try signUp("eve"))
    let found = try ask(served, "GET", "/v1/users?query=Be", token: ann.token).json["users"].elements
    #expect(found.map { $0["id"].text } == [ben.id] && found.allSatisfy { $0["email"] == .null })
    #expect(try ask(served, "GET", "/v1/users/\(ben.id)", token: ann.token).status == 404)
    let room = try ask(
      served, "POST", "/v1/conversations", #"{"kind":"direct","members":["\#(ben.id)"]}"#, token: ann.token)
    #expect(
      room.json["members"].elements.map { $0["name"].text }.sorted { $0 ?? "" < $1 ?? "" } == ["ann", "ben"])
    #expect(try ask(served, "GET", "/v1/users/\(ben.id)", token: ann.token).json["name"].text == "ben")
    #expect(try ask(served, "GET", "/v1/users/\(ben.id)", token: eve.token).status == 404)
    let stream = try served.listen(ann.token)
    #expect(stream.next()?.kind == "start")
    #expect(try ask(served, "PATCH", "/v1/me", #"{"name":"Benedict"}"#, token: ben.token).status == 200)
    let told = try #require(stream.next())
    #expect(told.data.contains("\"name\":\"Benedict\""))
  }

  @Test func anOperatorMakesAccountsDisablesThemAndSetsPasswords() throws {
    let served = try serve("accounts: services")
    let ann = #"{"email":"ann@example.com","password":"correct horse"}"#
    #expect(try ask(served, "POST", "/v1/users", ann).status == 403)
    let shop = try served.token("shop", "--role", "service")
    let made = try ask(
      served, "POST", "/v1/users",
      #"{"email":"ann@example.com","password":"correct horse","name":"Ann","id":"u-1"}"#, token: shop)
    #expect(made.status == 201 && made.json["user"]["id"].text == "u-1" && made.json["token"] == .null)
    let token = try #require(try ask(served, "POST", "/v1/sessions", ann).json["token"].text)
    // Without messages there are no conversations.
    #expect(try ask(served, "GET", "/v1/conversations", token: token).status == 404)
    let product = try served.token("u-1")

    let add = try sluice(
      served, ["users", "add", "ben@example.com", "--id", "u-2"], input: "another password\n")
    #expect(add.status == 0 && add.out == "u-2\n", "\(add)")
    #expect(
      try ask(served, "POST", "/v1/sessions", #"{"email":"ben@example.com","password":"another password"}"#)
        .status == 201)
    let disable = try sluice(served, ["users", "disable", "ann@example.com"])
    #expect(disable.out == "u-1  disabled\n")
    for token in [token, product] { #expect(try ask(served, "GET", "/v1/me", token: token).status == 401) }
    let refused = try ask(served, "POST", "/v1/sessions", ann)
    #expect(refused.status == 403 && refused.json["code"].text == "account-disabled")
    #expect(try sluice(served, ["users", "list"]).out.contains("disabled"))
    #expect(try sluice(served, ["users", "enable", "u-1"]).status == 0)
    #expect(try sluice(served, ["users", "password", "u-1"], input: "third password\n").status == 0)
    #expect(try ask(served, "POST", "/v1/sessions", ann).status == 401)
    let show = try sluice(served, ["users", "show", "u-1", "--format", "json"])
    #expect(try JSON(show.out)["email"].text == "ann@example.com")
    #expect(try sluice(served, ["users", "disable", "nobody-yet"]).status == 0, "a user of the product's")
    #expect(try sluice(served, ["users", "disable", "typo@exmple.com"]).status != 0)
    #expect(try sluice(served, ["users", "enable", "nobody"]).status != 0)
    // No password of an administrator is a service's to set.
    let boss = try sluice(
      served, ["users", "add", "boss@example.com", "--id", "boss", "--role", "admin"],
      input: "long password\n")
    #expect(boss.status == 0)
    let taken = try ask(served, "PUT", "/v1/users/boss", #"{"password":"taken over"}"#, token: shop)
    #expect(taken.status == 403)
    // An ended token does not keep a person out.
    let stale = try ask(
      served, "POST", "/v1/sessions", #"{"email":"boss@example.com","password":"long password"}"#,
      token: "old")
    #expect(stale.status == 201 && stale.json["user"]["role"].text == "admin")
  }
}
