import Configuration
import Pipeline
import Testing

struct SubstitutionTests {
  /// The value of a text option after substitution.
  private func filled(_ text: String, _ environment: [String: String] = [:]) throws -> String? {
    let file = "version: 1\nstages: [{ use: knobs, options: { title: '\(text)' } }]\n"
    return try Samples.definition(file, environment: environment)
      .stages.first?.values.first { $0.name == "title" }?.text
  }

  @Test func aVariableIsFilledIn() throws {
    #expect(try filled("a ${NAME} and ${_N2}!", ["NAME": "b", "_N2": "c"]) == "a b and c!")
  }

  @Test func whatIsFilledInIsNotFilledInAgain() throws {
    #expect(try filled("${NAME}", ["NAME": "${NAME} $$ $"]) == "${NAME} $$ $")
  }

  @Test func aDefaultCountsWhereTheVariableIsMissingOrEmpty() throws {
    #expect(try filled("${NAME:-a b}") == "a b")
    #expect(try filled("${NAME:-a b}", ["NAME": ""]) == "a b")
    #expect(try filled("${NAME:-a b}", ["NAME": "c"]) == "c")
    #expect(try filled("<${NAME:-}>") == "<>")
    #expect(try filled("<${NAME}>", ["NAME": ""]) == "<>")
  }

  @Test func twoDollarSignsAreOne() throws {
    #expect(try filled("$$5 for $${NAME}") == "$5 for ${NAME}")
    #expect(try filled("$$$$") == "$$")
  }

  /// In braces, a variable must be quoted.
  @Test(arguments: ["${WORKERS:-3}", "\"${WORKERS:-3}\""])
  func aNumberFromAVariableIsANumber(written: String) throws {
    let text = "version: 1\nstages: [{ use: mime }]\nworkers: \(written)\n"
    #expect(try Samples.definition(text, environment: ["WORKERS": "8"]).workers == 8)
    #expect(try Samples.definition(text, environment: [:]).workers == 3)
  }

  @Test func keysAreNotFilledIn() {
    #expect(
      Samples.complaints("version: 1\nstages: [{ use: pdf, options: { '${NAME}': 3 } }]\n", environment: [:])
        == [
          "2:33: unknown option '${NAME}' for stage 'pdf'; the options are: max-pages, encrypted, strict"
        ])
  }

  @Test func everyMissingVariableOfAValueIsNamed() {
    #expect(
      Samples.complaints("version: 1\nstages: [{ use: '${A}${B}' }]\n", environment: [:]) == [
        "2:17: environment variable 'A' is not set; set it, or give a default: '${A:-default}'",
        "2:17: environment variable 'B' is not set; set it, or give a default: '${B:-default}'",
      ])
  }

  @Test func variablesThatUnfoldToMoreThanTheLimitAreRefused() {
    let title = String(repeating: "${BIG}", count: 40)
    let text = "version: 1\nstages: [{ use: knobs, options: { title: '\(title)' } }]\n"
    let big = String(repeating: "x", count: 30_000)
    #expect(
      Samples.complaints(text, environment: ["BIG": big]) == [
        "2:42: with variables filled in, the values come to more than 1MB; shorten them"
      ])
    #expect(Samples.complaints(text, environment: ["BIG": String(big.prefix(20_000))]) == [])
  }

  @Test func whatAVariableIsForIsToldWhereItIsNotSet() {
    let text = "version: 1\nstages: [{ use: helped, options: { words: ['${A}', b, '${C}'] } }]\n"
    #expect(
      Samples.complaints(text, environment: [:]) == [
        "2:44: environment variable 'A' is not set; set it, or give a default: '${A:-default}'; it is for option 'words' "
          + "(some words; two at least)",
        "2:55: environment variable 'C' is not set; set it, or give a default: '${C:-default}'; it is for option 'words' "
          + "(some words; two at least)",
      ])
    #expect(
      Samples.complaints("version: 1\nstages: [{ use: helped }]\n") == [
        "2:17: stage 'helped' needs its option 'words'; add 'words: …' under 'options' (some words; two at least)"
      ])
  }
}
