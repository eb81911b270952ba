"Tables: every cell is where its column is, in print and in Markdown, whatever is in it"
