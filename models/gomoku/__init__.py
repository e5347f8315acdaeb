"""Golden models of Gomoku and of the search that plays it: plain rules, a textbook's tree."""
