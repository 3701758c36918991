import Configuration
import Pipeline
import Platform
import Testing

/// Secrets that are filled in from files, and the section that says where the keys lie.
struct SecretTests {
  private static let canary = "CANARY-5f3c91"

  /// What is read by the name of a file.
  private func parse(
    _ text: String, _ content: String = canary, environment: [String: String] = [:], file: String = "f"
  ) throws -> PipelineDefinition {
    try PipelineDocument.parse(Array(text.utf8), file: file, environment: environment) { path in
      switch path {
      case "/run/token", "etc/token", "token": .success(Array(content.utf8))
      case "/run/bytes": .success([0xFF, 0xFE, 0x41])
      default:
        .failure(
          ProtectedFile.Problem(
            path: path, reason: "has mode 0644, so that others can read it", remedy: "run `chmod`"))
      }
    }.resolve(Samples.descriptions)
  }

  private func complaints(_ text: String, _ content: String = canary, environment: [String: String] = [:])
    -> [String]
  {
    do {
      _ = try parse(text, content, environment: environment)
      return []
    } catch let error as ConfigurationError {
      for diagnostic in error.diagnostics { #expect(!"\(diagnostic)".contains("CANARY"), "\(diagnostic)") }
      return error.diagnostics.map { String($0.description.dropFirst(2)) }
    } catch {
      return ["\(error)"]
    }
  }

  private func stage(_ options: String) -> String {
    "version: 1\nstages: [{ use: knobs, options: { \(options) } }]\n"
  }

  @Test func aTextIsFilledInFromAFile() throws {
    for (written, content) in [
      ("${file:/run/token}", Self.canary), ("${file:/run/token}", Self.canary + "\n"),
      ("${file:/run/token}", Self.canary + "\r\n"),
    ] {
      let values = try parse(stage("title: '\(written)'"), content).stages[0].values
      let title = try #require(values.first { $0.name == "title" })
      #expect(title.text == Self.canary)
      #expect(title.isSecret)
      #expect(values.filter(\.isSecret).count == 1)
    }
    let both = try parse(stage("title: 'a${file:/run/token}b${N}$$'"), "x\n\n", environment: ["N": "n"])
    #expect(both.stages[0].values.first { $0.name == "title" }?.text == "ax\nbn$")
    let list = try parse(stage("words: ['${file:/run/token}', plain]")).stages[0].values.filter {
      $0.name == "words"
    }
    #expect(list.map(\.text) == [Self.canary, "plain"])
    #expect(list.map(\.isSecret) == [true, false])
  }

  @Test func relativePathsAreTakenFromTheFolderOfThePipeline() throws {
    for file in ["etc/pipeline.yaml", "pipeline.yaml"] {
      #expect(
        try parse(stage("title: '${file:token}'"), file: file).stages[0].values.contains(where: \.isSecret))
    }
    #expect(throws: ConfigurationError.self) {
      try parse(stage("title: '${file:token}'"), file: "other/pipeline.yaml")
    }
  }

  @Test func aVariableCalledFileStaysOne() throws {
    let values = try parse(stage("title: '${file:-usual}'")).stages[0].values
    #expect(values.first { $0.name == "title" }?.text == "usual")
  }

  @Test func whatIsFilledInIsNotFilledInAgain() throws {
    let values = try parse(stage("title: '${file:/run/token}'"), "${NAME} ${file:/run/token} $").stages[0]
      .values
    #expect(values.first { $0.name == "title" }?.text == "${NAME} ${file:/run/token} $")
  }

  @Test func withoutAReaderNoFileIsRead() {
    #expect(
      Samples.complaints(stage("title: '${file:/etc/passwd}'")) == [
        "2:42: the secret in '/etc/passwd' cannot be read: no files are read here; use a variable"
      ])
  }

  @Test func aSecretThatCannotBeUsedIsToldWithoutIt() {
    let text = stage("title: '${file:/run/token}'")
    #expect(
      complaints(text, "")
        == ["2:42: the secret in '/run/token' cannot be used: it is empty; write the secret into the file"])
    #expect(complaints(text, "\n") == complaints(text, ""))
    #expect(
      complaints(text, Self.canary + "\0")
        == [
          "2:42: the secret in '/run/token' cannot be used: it is no text in UTF-8; write it in base64 or hexadecimal digits, as the option asks"
        ])
    #expect(complaints(stage("title: '${file:/run/bytes}'")).first?.contains("is no text in UTF-8") == true)
    #expect(
      complaints(text, Self.canary + String(repeating: "x", count: 64 << 10))
        == [
          "2:42: the secret in '/run/token' cannot be used: it has more than 65536 bytes; name a file that holds the secret and nothing else"
        ])
    #expect(
      complaints(stage("title: '${file:/run/other}'"))
        == [
          "2:42: the secret in '/run/other' cannot be read: has mode 0644, so that others can read it; run `chmod`"
        ])
    #expect(
      complaints(stage("title: '${file:}'")) == ["2:42: '${file:}' names no file; write '${file:/path}'"])
  }

  @Test(arguments: [
    ("version: '${file:/run/token}'\nstages: [{ use: knobs }]\n", "1:10"),
    ("version: 1\nstages: [{ use: '${file:/run/token}' }]\n", "2:17"),
    ("version: 1\nstages: [{ use: knobs, id: 'a${file:/run/token}' }]\n", "2:28"),
    ("version: 1\nstages: [{ use: knobs, timeout: '${file:/run/token}' }]\n", "2:33"),
    ("version: 1\nstages: ['${file:/run/token}']\n", "2:10"),
    ("version: 1\nstages: '${file:/run/token}'\n", "2:9"),
    ("version: 1\nstages: [{ use: knobs }]\nplugins: ['${file:/run/token}']\n", "3:11"),
    ("version: 1\nstages: [{ use: knobs }]\nkeep: { bytes: '${file:/run/token}' }\n", "3:16"),
    ("version: 1\nstages: [{ use: knobs }]\nsecrets: { key: '${file:/run/token}' }\n", "3:17"),
    ("version: 1\nstages: [{ use: knobs }]\nchannels: { a: { use: '${file:/run/token}' } }\n", "3:23"),
    ("version: 1\nstages: [{ use: knobs }]\nchannels: { a: '${file:/run/token}' }\n", "3:16"),
    ("version: 1\nstages: [{ use: knobs }]\nstrange: { a: [{ b: '${file:/run/token}' }] }\n", "3:21"),
    ("'${file:/run/token}'\n", "1:1"),
  ])
  func elsewhereNoSecretIsTaken(text: String, place: String) {
    let complaints = complaints(text)
    #expect(
      complaints.contains {
        $0.hasPrefix("\(place): '")
          && $0.hasSuffix(
            "${file:/run/token}' stands where no secret is taken from a file; use it in the options of a stage, channel or lane, or in the header of a credential"
          )
      }, "\(complaints)")
  }

  /// Numbers, sizes and paths are shown by commands and recorded.
  @Test(arguments: ["ratio", "wait", "deep", "quiet", "both", "types"])
  func onlyTextsTakeASecret(option: String) {
    let value = option == "types" ? "['${file:/run/token}']" : "'${file:/run/token}'"
    for content in [Self.canary, "1", "2s", "true", "image/png"] {
      let complaints = complaints(stage("\(option): \(value)"), content)
      #expect(complaints.count == 1)
      #expect(
        complaints.first?.hasSuffix(
          "option '\(option)' of stage 'knobs' takes no secret from a file, for messages and the ledger show its value; "
            + "write the value here, or use a variable") == true
          || complaints.first?.hasPrefix("2:") == true && option == "types")
      #expect(complaints.first?.contains("takes no secret") == true)
    }
    #expect(
      self.complaints(
        "version: 1\nstages: [{ use: pdf, options: { encrypted: '${file:/run/token}' } }]\n", "reject"
      )
      .first?.contains("takes no secret") == true, "nor do choices")
  }

  @Test func aRemedyShowsWhatIsWrittenAndNotWhatIsFilledIn() {
    for (environment, written) in [([:], "${file:/run/token}"), (["T": Self.canary], "${T}")] {
      #expect(
        complaints(stage("words: '\(written)'"), environment: environment)
          == [
            "2:42: option 'words' of stage 'knobs' takes a list, not one value; write 'words: [\(written)]'"
          ])
      #expect(
        complaints(stage("title: ['\(written)']"), environment: environment)
          == ["2:42: option 'title' of stage 'knobs' takes one value, not a list; write 'title: \(written)'"])
      #expect(
        complaints("version: 1\nstages: [{ use: knobs, options: '\(written)' }]\n", environment: environment)
          == ["2:33: 'options' takes a map, not the value of '\(written)'; write 'options: { name: value }'"])
    }
  }

  @Test func aValueThatMayBeSecretIsNotDescribed() throws {
    let text = stage("title: '${T}', words: ['${file:/run/token}'], deep: '${N}', note: plain")
    let pipeline = try parse(text, environment: ["T": Self.canary, "N": "7"])
    let secret = pipeline.stages[0].values.filter(\.isSecret).map(\.name)
    #expect(secret == ["title", "words"], "a text from a variable may be one; a number is none")
    var dumped = ""
    dump(pipeline, to: &dumped)
    for shown in ["\(pipeline)", String(reflecting: pipeline), dumped] {
      #expect(!shown.contains("CANARY"))
      #expect(shown.contains("title: «secret»") && shown.contains("note: plain"))
    }
  }

  // MARK: The section `secrets`

  @Test func theKeysArePlaces() throws {
    let text = "version: 1\nstages: [{ use: knobs }]\n"
    #expect(try parse(text).secrets == SecretRules())
    #expect(try parse(text + "secrets:\n").secrets == SecretRules())
    let secrets = try parse(
      text + "secrets: { key: 'credential:sluice-key', old: ['file:/etc/${N}', 'env:OLD'] }\n",
      environment: ["N": "old"]
    ).secrets
    #expect(secrets.key == "credential:sluice-key")
    #expect(secrets.old == ["file:/etc/old", "env:OLD"])
  }

  @Test func aWrongKeyIsToldWithoutRepeatingIt() {
    let text = "version: 1\nstages: [{ use: knobs }]\n"
    let remedy = "write 'credential:NAME', 'file:/path' or 'env:NAME'"
    for value in ["CANARY0123456789abcdef", "file:CANARY", "env:CANARY-1", "credential:CANARY/x"] {
      #expect(
        complaints(text + "secrets: { key: '\(value)' }\n")
          == ["3:17: 'key' of 'secrets' does not say where a key lies; \(remedy)"])
      #expect(
        complaints(text + "secrets: { old: ['\(value)'] }\n")
          == ["3:18: 'old' of 'secrets' does not say where a key lies; \(remedy)"])
    }
    #expect(
      complaints(text + "secrets: CANARY0123\n")
        == ["3:10: 'secrets' takes a map, not one value; write 'secrets: { key: credential:sluice-key }'"])
    #expect(
      complaints(text + "secrets: { key: 'env:A', old: ['env:B', 'env:A'] }\n")
        == ["3:41: the same key is named twice, first at line 3, column 17; remove one of the two"])
    #expect(
      complaints(text + "secrets: { keys: 'env:A' }\n") == ["3:12: unknown key 'keys'; did you mean 'key'?"])
    #expect(
      complaints(text + "secret: { key: 'env:A' }\n") == [
        "3:1: unknown key 'secret'; did you mean 'secrets'?"
      ])
  }

  @Test func theSchemaHasTheSection() {
    let schema = PipelineSchema.text([])
    #expect(schema.contains(#""secrets":{"#))
    #expect(schema.contains("`credential:NAME` of systemd"))
  }
}
