"""The pages of the site, a module each kind: `pages(source)` returns them."""
