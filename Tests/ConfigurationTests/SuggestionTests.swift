import Configuration
import Testing

struct SuggestionTests {
  private let words = [
    "version", "plugins", "stages", "channels", "retry", "sandbox", "workers", "max-pages", "id",
  ]

  @Test(arguments: [
    ("stage", "stages"), ("max-page", "max-pages"), ("max_pages", "max-pages"), ("MaxPages", "max-pages"),
    ("wrokers", "workers"), ("sandbx", "sandbox"), ("plugin", "plugins"), ("retyr", "retry"), ("ID", "id"),
    ("chanels", "channels"), ("vresion", "version"),
  ])
  func aSlipFindsItsWord(written: String, meant: String) {
    #expect(Suggestion.nearest(to: written, among: words) == meant)
  }

  @Test(arguments: ["colour", "x", "", "ages", "pages", "stanza"])
  func whatIsNotCloseFindsNothing(word: String) {
    #expect(Suggestion.nearest(to: word, among: words) == nil)
  }

  @Test func theCloserWordWinsAndThenTheFirst() {
    #expect(Suggestion.nearest(to: "maxim", among: ["maxi", "maxim-", "maxims"]) == "maxi")
    #expect(Suggestion.nearest(to: "starts", among: ["stages", "start"]) == "start")
  }

  @Test func aVeryLongWordIsNotCompared() {
    let long = String(repeating: "a", count: 65)
    #expect(Suggestion.nearest(to: long, among: [long]) == nil)
  }

  @Test func theRemedyAsksOrListsWhatThereIs() {
    #expect(Suggestion.remedy(for: "retyr", among: words, called: "keys") == "did you mean 'retry'?")
    #expect(
      Suggestion.remedy(for: "colour", among: ["max", "min"], called: "options")
        == "the options are: max, min")
    #expect(Suggestion.remedy(for: "colour", among: [String](), called: "options") == "there are no options")
  }
}
