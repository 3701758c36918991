import Configuration
import Pipeline
import Testing

struct CaseDocumentTests {
  static func parse(_ text: String) throws(ConfigurationError) -> CaseDocument {
    try CaseDocument.parse(Array(text.utf8), file: "folder/cases.yaml")
  }

  // MARK: Valid files

  @Test func aCaseIsReadWithAllItSays() throws {
    let document = try Self.parse(
      """
      stage: store
      cases:
        - name: everything at once
          input: fixtures/a.pdf
          file-name: a.pdf
          declared-type: application/x-pdf
          media-type: application/pdf
          metadata: { a: 1, b: "1", c: 1.5, d: true, e: x, f: "true" }
          attempt: 2
          timeout: 5s
          memory: 64MB
          twin: old/object
          files: { a/b: text, .incoming/c: "" }
          options: { path: x }
          expect:
            verdict: reject
            code: path-taken
            message: { matches: "^a$" }
            metadata: { a: 1, b: { matches: x }, c: }
            metadata-includes: { d: true }
            media-type: image/png
            events: [{ type: t, channel: c, to: sender }]
            produced: none
            location: a/b
            files: { a: text, b: { matches: x }, c: { sha256: ab, size: 2 } }
            within: 500ms
      """)
    #expect(document.subject == .stage("store"))
    #expect(document.folder == "folder/")
    let one = try #require(document.cases.first)
    #expect(one.name == "everything at once" && one.line == 3)
    #expect(one.input == .file("fixtures/a.pdf"))
    #expect(one.fileName == "a.pdf" && one.declaredType == "application/x-pdf")
    #expect(one.mediaType == "application/pdf")
    #expect(
      one.metadata.map(\.value) == [
        .integer(1), .text("1"), .number(1.5), .boolean(true), .text("x"), .text("true"),
      ])
    #expect(one.attempt == 2 && one.timeout == 5000 && one.memory == 64 << 20)
    #expect(one.twin == "old/object" && one.files == ["a/b": "text", ".incoming/c": ""])
    let expected = one.expectation
    #expect(expected.line == 16 && !expected.isEmpty)
    #expect(expected.verdict?.value == "reject" && expected.verdict?.line == 16)
    #expect(expected.code?.value == .exactly("path-taken"))
    #expect(expected.message?.value == .matching("^a$") && expected.message?.line == 18)
    #expect(
      expected.metadata?.value.map(\.value) == [.scalar("1", isPlain: true), .matching("x"), .absent])
    #expect(expected.includedKeys == ["d"])
    let event = try #require(expected.events?.value.first)
    #expect(event.type == "t" && event.channel == "c" && event.audience == "sender")
    #expect(expected.produced != nil && expected.produced?.value == .some(nil))
    #expect(expected.location?.value == .exactly("a/b"))
    #expect(expected.files?.value.map(\.path) == ["a", "b", "c"])
    let file = try #require(expected.files?.value.last?.file)
    #expect(file.sha256 == "ab" && file.size == 2 && file.text == nil)
    #expect(expected.within?.value == 500)
  }

  @Test func aCaseOfAPipelineIsReadWithAllItSays() throws {
    let document = try Self.parse(
      """
      pipeline: ../pipeline.yaml
      cases:
        - name: x
          stages: { scan: { verdict: reject, code: virus-found, message: m, media-type: a/b, metadata: { a: 1 } } }
          expect: { outcome: tried-again, stage: scan, path: [mime, scan] }
      """)
    #expect(document.subject == .pipeline("../pipeline.yaml"))
    let one = try #require(document.cases.first)
    let canned = try #require(one.canned["scan"])
    #expect(canned.verdict == .reject && canned.code == "virus-found" && canned.message == "m")
    #expect(canned.mediaType == "a/b" && canned.metadata.map(\.value) == [.integer(1)])
    #expect(one.expectation.outcome?.value == "tried-again" && one.expectation.stage?.value == "scan")
    #expect(one.expectation.path?.value == ["mime", "scan"])
  }

  @Test(arguments: [
    ("{ text: hello }", "hello"), ("{ text: \"\" }", ""), ("{ text: }", ""),
    ("{ text: ab, times: 3 }", "ababab"),
    ("{ base64: aGVsbG8= }", "hello"), ("{ base64: \"aGVs\\n bG8=\" }", "hello"), ("{ base64: \"\" }", ""),
    ("{ base64: aGk=, times: 2 }", "hihi"), ("{ text: \"\\0\" }", nil),
    ("[{ text: a, times: 2 }, { zeros: 2B }, { base64: Yg== }]", "aa\0\0b"), ("[]", ""),
  ])
  func contentMayStandInTheFile(input: String, content: String?) throws {
    let text = "stage: size\ncases:\n- name: x\n  input: \(input)\n  expect: {}\n"
    guard let content else {
      #expect(throws: ConfigurationError.self) { try Self.parse(text) }
      return
    }
    #expect(try Self.parse(text).cases[0].input == .bytes(Array(content.utf8)))
  }

  @Test func zerosTakeNoRoom() throws {
    let document = try Self.parse(
      "stage: size\ncases:\n- name: x\n  input: { zeros: 1TB }\n  expect: {}\n- name: y\n  expect: {}\n")
    #expect(document.cases.map(\.input) == [.zeros(1 << 40), nil])
  }

  @Test func anEventHasTheBodyItUsuallyHas() throws {
    let document = try Self.parse(
      """
      stage: jsonl
      cases:
      - name: x
        event: { id: e1, type: t, recipient: ben }
        expect: {}
      - name: y
        event: { body: { text: ab, times: 2 } }
        expect: {}
      - name: z
        event: { body: "" }
        expect: {}
      - name: none
        expect: {}
      """)
    let event = try #require(document.cases[0].event)
    #expect(event.id == "e1" && event.type == "t" && event.recipient == "ben" && event.body == nil)
    #expect(document.cases[1...2].map { $0.event?.body } == ["abab", ""])
    #expect(document.cases[3].event == nil)
  }

  @Test func aDollarIsALetterLikeAnyOther() throws {
    let document = try Self.parse(
      "stage: size\ncases:\n- name: \"${HOME}\"\n  input: { text: $$ }\n  expect: {}\n")
    #expect(document.cases[0].name == "${HOME}" && document.cases[0].input == .bytes(Array("$$".utf8)))
  }

  @Test func optionsAreReadAsInAPipeline() throws {
    let document = try Self.parse(
      """
      stage: size
      cases:
      - name: x
        options: { max: 10MB }
        expect: {}
      - name: y
        options: { max: 10, mx: 1 }
        expect: {}
      """)
    let size = try #require(try Samples.descriptions["size"]?.get())
    let values = try document.values(of: document.cases[0], for: size)
    #expect(values.map(\.name) == ["max", "min"] && values.map(\.integer) == [10 << 20, 1])
    let error = #expect(throws: ConfigurationError.self) {
      try document.values(of: document.cases[1], for: size)
    }
    #expect(error?.diagnostics.map { "\($0.line):\($0.column)" } == ["7:19", "7:23"])
  }

  // MARK: Invalid files

  static func complaints(_ bytes: [UInt8]) -> [String] {
    do throws(ConfigurationError) {
      _ = try CaseDocument.parse(bytes, file: "f")
      return []
    } catch {
      return error.diagnostics.map { String($0.description.dropFirst(2)) }
    }
  }

  @Test(arguments: BadFile.cases + BadFile.expectations)
  func aBadFileOfCasesIsToldWhereWhatAndWhatToDo(file: BadFile) {
    #expect(!file.complaints.isEmpty)
    #expect(Self.complaints(Array(file.text.utf8)) == file.complaints)
  }

  @Test func anEmptyFileOfCasesIsToldWhatItNeeds() {
    #expect(Self.complaints([]) == ["1:1: the file is empty; it needs 'stage: NAME' and 'cases:' at least"])
  }
}
