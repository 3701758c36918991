import Testing

/// `sluice test --update` rewrites failed expectations, and nothing else.
@Suite struct CaseUpdateTests {
  @Test func anUpdateShowsTheDifferenceAndLeavesTheRest() throws {
    let (folder, outcome) = try CasesTests.test(CasesTests.size, "--update")
    #expect(outcome.status == 1)
    #expect(
      outcome.err == """
        cases.yaml:12: large content does not
        -       verdict: pass  # no
        +       verdict: reject  # no
        cases.yaml:18: neither does nothing
        -     expect: { verdict: reject, code: too-small }  # a comment
        +     expect: { verdict: reject, code: empty }  # a comment
        sluice: cases.yaml: rewrote 2 of 3 cases; run it again to check

        """)
    let expected = CasesTests.size.replacing("verdict: pass  # no", with: "verdict: reject  # no")
      .replacing("too-small", with: "empty")
    #expect(try folder.read("cases.yaml") == expected)
    let again = try SluiceCommand.run(["test", "cases.yaml", "--update"], in: folder)
    #expect(again.status == 0 && again.err.isEmpty)
    #expect(try folder.read("cases.yaml") == expected)
    #expect(folder.files(below: ".") == ["cases.yaml"])
  }

  @Test func aCaseThatExpectsNothingIsFilledIn() throws {
    let (folder, outcome) = try CasesTests.test(
      """
      stage: store
      cases:
        - name: stored
          input: { text: abc }
          options: { path: "a/{fileName}" }
          expect: {}
        - name: refused
          expect: {}
      """, "--update")
    #expect(outcome.status == 1)
    #expect(
      try folder.read("cases.yaml").hasSuffix(
        """
            expect: { verdict: pass, location: a/attachment, files: { a/attachment: abc } }
          - name: refused
            expect:
              refused: "stage 'store' needs its option 'path'; add 'path: …' under 'options' \
        (Where objects go below the store: a template, or a map from media type patterns to templates)"
        """))
    #expect(try SluiceCommand.run(["test", "."], in: folder).status == 0)
  }

  @Test func whatOnlyAPersonCanMendStays() throws {
    let text = """
      stage: size
      cases:
        - name: lost
          input: lost.pdf
          expect: { verdict: pass }

      """
    let (folder, outcome) = try CasesTests.test(text, "--update")
    #expect(outcome.status == 1)
    #expect(outcome.err.contains("rewrote 0 of 1 case, and 1 needs your hand"))
    #expect(try folder.read("cases.yaml") == text)
  }

  @Test func keysBehindAQuestionMarkStayAndAreNamed() throws {
    let explicit = """
        - name: explicit
          input: { text: hello }
          expect:
            ? code
            : too-large
            ? verdict
            : reject

      """
    let (folder, outcome) = try CasesTests.test(
      """
      stage: size
      cases:
      \(explicit)  - name: plain
          input: { text: hello }
          expect: { verdict: reject }

      """, "--update")
    #expect(outcome.status == 1)
    #expect(
      outcome.err.hasPrefix(
        "cases.yaml:6: explicit: write 'key: value' where it has '? key'\ncases.yaml:12: plain\n"))
    #expect(outcome.err.contains("rewrote 1 of 2 cases, and 1 needs your hand"))
    #expect(try folder.read("cases.yaml").contains(explicit))
    #expect(try folder.read("cases.yaml").hasSuffix("expect: { verdict: pass }\n"))
  }

  @Test func patternsThatHoldStayWhenOthersAreRewritten() throws {
    let (folder, _) = try CasesTests.test(
      """
      stage: mime
      cases:
        - name: x
          input: { text: hello }
          file-name: a.txt
          expect:
            metadata:
              mime.magic: { matches: "^text/" }
              mime.extension: pdf  # wrong
              mime.mismatch: true
              mime.database: { matches: . }
              mime.also: x
      """, "--update")
    #expect(
      try folder.read("cases.yaml").hasSuffix(
        """
              metadata:
                mime.magic: { matches: "^text/" }
                mime.extension: txt  # wrong
                mime.mismatch: false
                mime.database: { matches: . }
                mime.charset: utf-8
        """))
    #expect(try SluiceCommand.run(["test", "."], in: folder).status == 0)
  }
}
