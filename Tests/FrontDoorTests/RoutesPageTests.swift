import Foundation
import Testing

@testable import FrontDoor

/// The pages for users say what the table of routes says.
struct RoutesPageTests {
  @Test(arguments: [("docs/http.md", false), ("docs/messages.md", true)])
  func thePageHasEachRouteWithItsParties(page: String, isOfMessages: Bool) throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent(page)
    let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex(of: "<!-- routes -->"))
    let rows = lines[(start + 3)...].prefix { $0.hasPrefix("|") }
    let routes = Route.allCases.filter { $0.facts.isOfMessages == isOfMessages }
    #expect(Array(rows) == routes.map(Self.row))
  }

  private static func row(_ route: Route) -> String {
    let all = Set(Party.allCases)
    let parties =
      switch route.parties {
      case all: "anyone"
      case all.subtracting([.nobody]): "any token"
      default: Party.allCases.filter(route.parties.contains).map(\.rawValue).joined(separator: ", ")
      }
    return "| `\(route.method) \(route.path)` | \(route.summary) | \(parties) |"
  }
}
