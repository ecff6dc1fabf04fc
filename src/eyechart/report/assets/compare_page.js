// The page of a comparison.
export function showComparison(root, data) {}
