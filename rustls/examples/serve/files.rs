//! The files that are served.
//!
//! They are listed once, when the server starts, and a request is looked up in that list. No path is ever
//! made from what a client sends, so no request can lead out of the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// How many files are served at the most.
const FILE_LIMIT: usize = 10_000;

/// The files of a folder and of the folders in it, by the path in their URL.
#[derive(Debug)]
pub(crate) struct Files {
    /// Sorted by URL path; each begins with a slash.
    list: Vec<(String, PathBuf)>,
}

impl Files {
    /// Lists `root`. Left out are symbolic links, names that begin with a dot and those that are not
    /// UTF-8.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, or more than [`FILE_LIMIT`] files.
    pub(crate) fn list(root: &Path) -> io::Result<Self> {
        let mut list = Vec::new();
        let mut folders = vec![("/".to_owned(), root.to_owned())];
        while let Some((url, folder)) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                // of the entry itself: a symbolic link is neither file nor folder
                let kind = entry.file_type()?;
                if name.starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    folders.push((format!("{url}{name}/"), entry.path()));
                } else if kind.is_file() {
                    if name == "index.html" {
                        list.push((url.clone(), entry.path()));
                    }
                    list.push((format!("{url}{name}"), entry.path()));
                }
                if list.len() + folders.len() > FILE_LIMIT {
                    let problem = format!("there are more than {FILE_LIMIT} files");
                    return Err(io::Error::other(problem));
                }
            }
        }
        list.sort();
        Ok(Self { list })
    }

    /// The file of a URL path, percent-decoded, if it is in the list.
    pub(crate) fn find(&self, url: &str) -> Option<&Path> {
        let at = self
            .list
            .binary_search_by(|(listed, _)| listed.as_str().cmp(url))
            .ok()?;
        Some(&self.list[at].1)
    }

    /// Opens the file of a URL path; also says how long it is.
    pub(crate) fn open(&self, url: &str) -> io::Result<(File, u64)> {
        let path = self.find(url).ok_or(io::ErrorKind::NotFound)?;
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok((file, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed again.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("rustls-example-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("root/inner")).unwrap();
            for file in [
                "secret",
                "root/index.html",
                "root/a b.txt",
                "root/.hidden",
                "root/inner/page.html",
            ] {
                fs::write(path.join(file), file).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_in_the_folder_is_found() {
        let folder = Folder::new("found");
        let files = Files::list(&folder.0.join("root")).unwrap();
        for (url, file) in [
            ("/", "index.html"),
            ("/index.html", "index.html"),
            ("/a b.txt", "a b.txt"),
            ("/inner/page.html", "inner/page.html"),
        ] {
            let path = folder.0.join("root").join(file);
            assert_eq!(files.find(url), Some(path.as_path()), "{url}");
        }
        let (_, len) = files.open("/inner/page.html").unwrap();
        assert_eq!(len, "root/inner/page.html".len() as u64);
    }

    #[test]
    fn nothing_else_is_found() {
        let folder = Folder::new("not-found");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(folder.0.join("secret"), folder.0.join("root/link")).unwrap();
            symlink(&folder.0, folder.0.join("root/up")).unwrap();
        }
        let files = Files::list(&folder.0.join("root")).unwrap();
        let absolute = folder.0.join("secret");
        for url in [
            "",
            "index.html",
            "/..",
            "/../secret",
            "/inner/../../secret",
            "/inner/..",
            "/inner",
            "/inner/",
            "//index.html",
            "/./index.html",
            "/index.html/",
            "/index.html\0",
            "/..\\secret",
            "/.hidden",
            "/link",
            "/up/secret",
            "/etc/passwd",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(files.find(url), None, "{url}");
        }
    }
}
